//! Cancellation, pause, resume and deadlines.

use proto::{
    fact::{PlanReply, Signal},
    interaction::Verdict,
    job::{FailReason, JobState, Outcome, SubStatus},
};
use serde_json::json;

use super::play::{Play, agent, plan};

#[test]
fn after_a_cancel_nothing_new_starts_and_late_results_change_nothing() {
    let mut p = Play::planned(agent(|_| {}), plan("a b<a"));
    p.drive();
    p.signal(Signal::Cancel);
    p.expect(&["finish canceled"]);
    assert_eq!(p.states(), "a:canceled b:canceled");
    p.ok("g0.r0.a", json!(1));
    p.expect(&[]);
    assert_eq!((p.view().ignored, p.view().state), (1, JobState::Canceled));
}

#[test]
fn a_cancel_closes_open_questions_first() {
    let mut p = Play::submit(agent(|a| {
        a.confirm = true;
        a.ask.deadline_ms = Some(1000);
        a.deadline_ms = Some(5000);
    }));
    p.drive();
    p.reply(1, PlanReply::Plan { plan: plan("a") });
    p.drive();
    assert_eq!(p.armed.len(), 2, "the question's and the job's deadline");
    p.signal(Signal::Cancel);
    p.expect(&["close q1 JobEnded", "finish canceled"]);
    p.answer("q1", Verdict::Approve, None);
    p.expect(&[]);
}

#[test]
fn a_paused_job_starts_nothing_and_goes_on_where_it_was() {
    let mut p = Play::planned(agent(|_| {}), plan("a b<a"));
    p.drive();
    p.signal(Signal::Pause);
    p.ok("g0.r0.a", json!(1));
    p.expect(&[]);
    assert_eq!(p.view().sub_status, Some(SubStatus::Paused));
    assert_eq!(p.view().reason.as_deref(), Some("because"));
    p.signal(Signal::Resume);
    p.expect(&["call g0.r0.b #1"]);
}

#[test]
fn a_paused_job_can_be_canceled() {
    let mut p = Play::planned(agent(|_| {}), plan("a"));
    p.signal(Signal::Pause);
    p.signal(Signal::Cancel);
    p.expect(&["finish canceled"]);
}

#[test]
fn the_deadline_is_armed_before_the_first_decision_and_ends_the_job() {
    let mut p = Play::submit(agent(|a| a.deadline_ms = Some(60_000)));
    p.expect(&["plan g0.p1 #1"]);
    assert_eq!(p.armed.len(), 1);
    p.fire("deadline");
    p.expect(&["finish failed"]);
    let Outcome::Failed { reason, .. } = p.outcome() else { panic!("not failed") };
    assert_eq!(reason, FailReason::DeadlineExceeded);
}

#[test]
fn a_job_that_is_paused_before_anything_was_decided_keeps_its_deadline() {
    let held = |deadline| {
        let mut p = Play::submit(agent(|a| a.deadline_ms = deadline));
        p.signal(Signal::Pause);
        p
    };
    held(None).expect(&[]);
    let mut p = held(Some(60_000));
    p.expect(&["hold"]);
    p.expect(&[]);
    assert_eq!(p.view().sub_status, Some(SubStatus::Paused));
    p.signal(Signal::Resume);
    p.expect(&["plan g0.p1 #1"]);
    assert_eq!(p.armed.len(), 1, "once");
    let mut p = held(Some(60_000));
    p.drive();
    p.fire("deadline");
    p.expect(&["finish failed"]);
    let Outcome::Failed { reason, .. } = p.outcome() else { panic!("not failed") };
    assert_eq!(reason, FailReason::DeadlineExceeded);
}

#[test]
fn a_job_that_ends_in_time_cancels_its_deadline() {
    let mut p = Play::planned(agent(|a| a.deadline_ms = Some(60_000)), plan("a"));
    p.drive();
    p.ok("g0.r0.a", json!(1));
    p.expect(&["finish completed"]);
    assert_eq!(p.armed.len(), 0);
}

#[test]
fn a_backoff_is_over_when_the_job_ends() {
    let mut p = Play::planned(agent(|_| {}), plan("a"));
    p.drive();
    p.fault("g0.r0.a", proto::tool::Fault::Timeout);
    p.drive();
    assert_eq!(p.armed.len(), 1);
    p.signal(Signal::Cancel);
    p.drive();
    assert_eq!(p.armed.len(), 0);
}
