//! Facts under a condition: stored only if the job has no further record.

use std::time::Duration;

use broker::log::CasOutcome;
use jiff::SignedDuration;
use proto::{
    fact::Signal,
    id::{JobId, Seq},
};

use super::{fixtures::Fixture, on_every_broker, race_on_every_broker, words::*};

on_every_broker![
    a_fact_follows_the_record_that_its_sender_saw,
    any_later_record_is_a_conflict,
    a_timer_is_no_record,
];
race_on_every_broker![of_many_facts_after_one_record_one_is_stored];

async fn a_fact_follows_the_record_that_its_sender_saw(f: &impl Fixture) {
    let broker = f.broker().await;
    let job = job("unmoved");
    submit(&broker, &job).await;
    command(&broker, &job, "p", 0..1).await;
    let seen = broker.log.read(&job, Seq(0)).await.unwrap().last().unwrap().seq;
    let pause = signaled(Signal::Pause);
    let seq = stored(broker.log.append_after(&job, &pause, seen, trace(3)).await);
    let entries = broker.log.read(&job, seen).await.unwrap();
    assert_eq!(seqs(&entries), [seq.0]);
    assert_eq!((fact(&entries[0]), entries[0].trace), (pause, Some(trace(3))));
}

async fn any_later_record_is_a_conflict(f: &impl Fixture) {
    let broker = f.broker().await;
    let (fact, decision) = (job("moved-by-a-fact"), job("moved-by-a-decision"));
    for job in [&fact, &decision] {
        submit(&broker, job).await;
    }
    let seen = async |job: &JobId| broker.log.read(job, Seq(0)).await.unwrap().last().unwrap().seq;
    let (first, second) = (seen(&fact).await, seen(&decision).await);
    append(&broker, &fact, 0..1).await;
    command(&broker, &decision, "p", 0..1).await;
    for (job, seen) in [(&fact, first), (&decision, second)] {
        let before = seqs(&broker.log.read(job, Seq(0)).await.unwrap());
        let late = broker.log.append_after(job, &signaled(Signal::Cancel), seen, trace(1)).await;
        assert_eq!(late.unwrap(), CasOutcome::Conflict);
        assert_eq!(seqs(&broker.log.read(job, Seq(0)).await.unwrap()), before);
    }
}

async fn a_timer_is_no_record(f: &impl Fixture) {
    let broker = f.broker().await;
    let job = job("armed");
    submit(&broker, &job).await;
    let seen = broker.log.read(&job, Seq(0)).await.unwrap().last().unwrap().seq;
    let later = f.now() + SignedDuration::try_from(Duration::from_secs(600)).unwrap();
    broker.log.arm(&job, &timer("alarm"), later, trace(1)).await.unwrap();
    let cancel = signaled(Signal::Cancel);
    stored(broker.log.append_after(&job, &cancel, seen, trace(1)).await);
}

async fn of_many_facts_after_one_record_one_is_stored(f: &impl Fixture) {
    for round in 0..20 {
        let job = job(&format!("signaled-{round}"));
        submit(&f.broker().await, &job).await;
        let seen = f.broker().await.log.read(&job, Seq(0)).await.unwrap().last().unwrap().seq;
        let mut senders = tokio::task::JoinSet::new();
        for n in 0..8 {
            let (broker, job) = (f.broker().await, job.clone());
            senders.spawn(async move {
                let pause = signaled(Signal::Pause);
                broker.log.append_after(&job, &pause, seen, trace(n)).await.unwrap()
            });
        }
        let mut winners = senders.join_all().await;
        winners.retain(|outcome| *outcome != CasOutcome::Conflict);
        let [CasOutcome::Stored(seq)] = &winners[..] else { panic!("winners: {winners:?}") };
        let entries = f.broker().await.log.read(&job, seen).await.unwrap();
        assert_eq!(seqs(&entries), [seq.0]);
    }
}
