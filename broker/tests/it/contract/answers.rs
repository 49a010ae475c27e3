//! Answers from people: exactly one of several is stored.

use broker::log::CasOutcome;
use proto::{fact::Source, id::Seq, subject::Family};

use super::{fixtures::Fixture, on_every_broker, race_on_every_broker, words::*};

on_every_broker![
    an_answer_follows_the_last_one_of_a_person,
    an_answer_that_saw_less_is_a_conflict,
    what_others_say_does_not_move_the_position_of_answers,
];
race_on_every_broker![of_many_answers_one_is_stored];

async fn an_answer_follows_the_last_one_of_a_person(f: &impl Fixture) {
    let broker = f.broker().await;
    let job = job("asked");
    submit(&broker, &job).await;
    let first = stored(broker.log.answer(&job, &answered("ann"), Seq(0), trace(3)).await);
    let second = stored(broker.log.answer(&job, &answered("bob"), first, trace(4)).await);
    let entries = broker.log.read(&job, first).await.unwrap();
    assert_eq!(seqs(&entries), [second.0]);
    assert_eq!(entries[0].family, Family::In(Source::People));
    assert_eq!((fact(&entries[0]), entries[0].trace), (answered("bob"), Some(trace(4))));
}

async fn an_answer_that_saw_less_is_a_conflict(f: &impl Fixture) {
    let broker = f.broker().await;
    let job = job("late");
    let first = stored(broker.log.answer(&job, &answered("ann"), Seq(0), trace(1)).await);
    let late = broker.log.answer(&job, &answered("bob"), Seq(0), trace(1)).await.unwrap();
    assert_eq!(late, CasOutcome::Conflict);
    assert_eq!(seqs(&broker.log.read(&job, Seq(0)).await.unwrap()), [first.0]);
}

async fn what_others_say_does_not_move_the_position_of_answers(f: &impl Fixture) {
    let broker = f.broker().await;
    let job = job("others");
    submit(&broker, &job).await;
    append(&broker, &job, 0..2).await;
    command(&broker, &job, "p", 0..2).await;
    stored(broker.log.answer(&job, &answered("ann"), Seq(0), trace(1)).await);
}

async fn of_many_answers_one_is_stored(f: &impl Fixture) {
    for round in 0..20 {
        let job = job(&format!("raced-{round}"));
        submit(&f.broker().await, &job).await;
        let mut people = tokio::task::JoinSet::new();
        for n in 0..8 {
            let (broker, job) = (f.broker().await, job.clone());
            people.spawn(async move {
                let by = format!("person-{n}");
                let answer = broker.log.answer(&job, &answered(&by), Seq(0), trace(n)).await;
                (by, answer.unwrap())
            });
        }
        let mut winners = people.join_all().await;
        winners.retain(|(_, guarded)| *guarded != CasOutcome::Conflict);
        let [(by, CasOutcome::Stored(seq))] = &winners[..] else { panic!("winners: {winners:?}") };
        let entries = f.broker().await.log.read(&job, Seq(0)).await.unwrap();
        assert_eq!(seqs(&entries)[1..], [seq.0]);
        assert_eq!(fact(&entries[1]), answered(by));
    }
}
