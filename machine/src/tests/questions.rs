//! The status of questions, for users who answer them.

use proto::{
    decision::Closed,
    fact::{Answered, Asked, AskedKind, Fact, Fired, PlanReply, Signal, Source},
    id::{AskId, Seq, TimerName},
    interaction::Answer,
};
use rstest::rstest;
use serde_json::{Value, json};

use super::play::{Play, agent};
use crate::QuestionStatus;

fn ask(id: &str) -> AskId {
    AskId::new(id).unwrap()
}

/// Returns a job whose planner has asked `q1`, with a deadline of one second.
fn asked() -> Play {
    let mut p = Play::submit(agent(|a| a.ask.deadline_ms = Some(1000)));
    p.drive();
    let kind = AskedKind::Query;
    let question = Asked { prompt: "Which one?".into(), kind, default: None };
    p.reply(1, PlanReply::Question { question });
    p.expect(&["ask q1 question"]);
    p
}

fn answered(id: &str, value: Option<Value>, by: &str) -> Fact {
    let answer = Answer { value, ..Answer::respond(Value::Null) };
    Fact::Answered(Answered { ask: ask(id), answer, by: by.into() })
}

fn answer(p: &mut Play, by: &str) {
    p.fact(answered("q1", Some(json!("the red one")), by));
}

fn fired(p: &mut Play, timer: &str) {
    p.fact(Fact::Fired(Fired { timer: TimerName::new(timer).unwrap() }));
}

fn shown(p: &Play, id: &str) -> String {
    match p.job.question(&ask(id)) {
        None => "unknown".into(),
        Some(QuestionStatus::Open { .. }) => "open".into(),
        Some(QuestionStatus::Answered { winner, seq }) => {
            let first = p.log.iter().find(|(at, ..)| at.seq == seq);
            assert!(first.is_some(), "the winner is in the log");
            winner.by.clone()
        }
        Some(QuestionStatus::Closed { because }) => format!("{because:?}"),
    }
}

#[rstest]
#[case::never_asked(|_: &mut Play| {}, "q2", "unknown")]
#[case::asked(|_: &mut Play| {}, "q1", "open")]
#[case::answered(|p: &mut Play| answer(p, "ann"), "q1", "ann")]
#[case::the_first_answer_wins(|p: &mut Play| { answer(p, "ann"); answer(p, "bob") }, "q1", "ann")]
#[case::an_invalid_answer_does_not_win(|p: &mut Play| { p.fact(answered("q1", None, "ann")); answer(p, "bob") }, "q1", "bob")]
#[case::an_answer_of_a_worker(|p: &mut Play| p.fact_from(Source::Crew, answered("q1", Some(json!("x")), "ann")), "q1", "open")]
#[case::expired(|p: &mut Play| { fired(p, "ask-q1"); answer(p, "ann") }, "q1", "Expired")]
#[case::expired_and_noted(|p: &mut Play| { fired(p, "ask-q1"); p.drive(); answer(p, "ann") }, "q1", "Expired")]
#[case::answered_just_before_it_expired(|p: &mut Play| { answer(p, "ann"); fired(p, "ask-q1") }, "q1", "ann")]
#[case::another_timer(|p: &mut Play| fired(p, "ask-q11"), "q1", "open")]
#[case::the_job_is_being_canceled(|p: &mut Play| p.signal(Signal::Cancel), "q1", "JobEnded")]
#[case::answered_while_the_job_is_being_canceled(|p: &mut Play| { p.signal(Signal::Cancel); answer(p, "ann") }, "q1", "JobEnded")]
#[case::answered_before_the_cancel(|p: &mut Play| { answer(p, "ann"); p.signal(Signal::Cancel); p.drive(); }, "q1", "ann")]
#[case::the_job_ended(|p: &mut Play| { p.signal(Signal::Cancel); p.drive(); answer(p, "ann") }, "q1", "JobEnded")]
fn a_question_has_the_status_that_the_fold_gives_it(
    #[case] act: fn(&mut Play),
    #[case] id: &str,
    #[case] expected: &str,
) {
    let mut p = asked();
    act(&mut p);
    assert_eq!(shown(&p, id), expected);
}

#[test]
fn a_question_from_before_a_rollback_is_closed_and_its_successor_is_open() {
    let mut p = asked();
    let to = p.log[2].0.seq;
    assert!(p.back(to), "the rollback counts");
    p.job = p.folded();
    assert_eq!(shown(&p, "q1"), format!("{:?}", Closed::RolledBack));
    p.drive();
    assert_eq!((shown(&p, "q1").as_str(), shown(&p, "q2").as_str()), ("RolledBack", "open"));
}

#[test]
fn every_fact_from_a_person_moves_the_position_that_answers_are_compared_with() {
    let mut p = asked();
    assert_eq!(p.job.last_answer(), Seq(0));
    answer(&mut p, "ann");
    let first = p.last();
    assert_eq!(p.job.last_answer(), first);
    p.fact(answered("q9", Some(json!("x")), "ann"));
    assert!(p.last() > first);
    assert_eq!(p.job.last_answer(), p.last());
}

#[test]
fn a_forged_fact_moves_that_position_and_answers_nothing() {
    use proto::{record::Unreadable, subject::Family};
    let mut p = asked();
    p.record(Family::In(Source::People), Err(Unreadable::Forged));
    assert_eq!((p.job.last_answer(), shown(&p, "q1").as_str()), (p.last(), "open"));
    answer(&mut p, "ann");
    assert_eq!(shown(&p, "q1"), "ann");
}

#[test]
fn a_question_after_a_record_that_cannot_be_read_keeps_its_status() {
    use proto::{record::Unreadable, subject::Family};
    let mut p = asked();
    p.record(Family::In(Source::Door), Err(Unreadable::Kind { kind: "x".into(), unit: None }));
    answer(&mut p, "ann");
    assert_eq!(shown(&p, "q1"), "open");
    assert!(p.job.poison().is_some());
}
