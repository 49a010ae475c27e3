//! Work that was given up and waits for an operator, and the effect of a retry.

use proto::{
    agent::{Agent, OnGivenUp},
    fact::{PlanReply, Signal, TurnReply},
    id::{AskId, Attempt, Unit},
    job::{JobState, SubStatus},
    plan::Action,
    retry::RetryPolicy,
    tool::{Fault, ToolResult},
};
use rstest::rstest;
use serde_json::json;

use super::play::{Play, agent, plan, plan_with, transient, work};
use crate::Waits;

fn parks(attempts: u32) -> Agent {
    agent(|agent| {
        agent.tool.retry = RetryPolicy { max_attempts: attempts, ..RetryPolicy::default() };
        agent.tool.on_given_up = OnGivenUp::Park;
    })
}

fn planning() -> (Play, &'static str) {
    let mut p = Play::submit(parks(1));
    p.drive();
    p.reply(1, PlanReply::Failed { error: transient() });
    (p, "plan g0.p1 #2")
}

fn turning() -> (Play, &'static str) {
    let mut p = Play::planned(parks(1), plan_with("a", |_| Action::Agent));
    p.drive();
    p.turn("g0.r0.a.n1.t1", TurnReply::Failed { error: transient() });
    (p, "turn g0.r0.a.n1.t1 #2")
}

fn calling() -> (Play, &'static str) {
    let mut p = Play::planned(parks(1), plan("a"));
    p.drive();
    p.fault("g0.r0.a", Fault::WorkerLost);
    (p, "call g0.r0.a #2")
}

#[rstest]
#[case::planning(planning())]
#[case::a_turn(turning())]
#[case::a_call(calling())]
fn what_is_given_up_waits_for_an_operator_who_has_it_tried_again(#[case] case: (Play, &str)) {
    let (mut p, next) = case;
    p.expect(&[]);
    let view = p.view();
    assert_eq!((view.state, view.sub_status), (JobState::Working, Some(SubStatus::Parked)));
    assert!(view.reason.unwrap().contains("was given up after 1 attempts"));
    let waits = p.job.waits();
    assert_eq!(waits.given_up.len(), 1, "{waits:?}");
    assert_eq!(waits.given_up[0].attempt, Attempt(1));
    p.signal(Signal::Retry);
    p.expect(&[next]);
    assert_eq!(p.job.waits().given_up, []);
    // A retry without anything to retry changes nothing and is ignored.
    let ignored = p.view().ignored;
    p.signal(Signal::Retry);
    p.expect(&[]);
    assert_eq!(p.view().ignored, ignored + 1);
}

#[test]
fn each_time_an_operator_wants_one_more_attempt_there_is_one_more() {
    let (mut p, _) = calling();
    for attempt in 2..5 {
        p.signal(Signal::Retry);
        p.expect(&[&format!("call g0.r0.a #{attempt}")]);
        p.fault("g0.r0.a", Fault::WorkerLost);
        p.expect(&[]);
    }
    p.signal(Signal::Retry);
    p.drive();
    p.ok("g0.r0.a", json!(1));
    p.expect(&["finish completed"]);
}

#[test]
fn what_waits_for_the_clock_is_tried_at_once_and_its_timer_canceled() {
    let mut p = Play::planned(parks(3), plan("a"));
    p.drive();
    p.fault("g0.r0.a", Fault::Timeout);
    p.expect(&["wait g0.r0.a #2"]);
    let waits = p.job.waits();
    assert!(waits.backing_off && waits.timers.len() == 1 && waits.given_up.is_empty());
    p.signal(Signal::Retry);
    p.expect(&["call g0.r0.a #2"]);
    assert_eq!(p.armed.len(), 0, "the decision cancels it");
}

#[test]
fn others_go_on_meanwhile_and_a_cancel_ends_it() {
    let mut p = Play::planned(parks(1), plan("a b c<b"));
    p.drive();
    p.fault("g0.r0.a", Fault::WorkerLost);
    p.ok("g0.r0.b", json!(1));
    p.expect(&["call g0.r0.c #1"]);
    p.ok("g0.r0.c", json!(1));
    p.expect(&[]);
    p.signal(Signal::Cancel);
    p.expect(&["finish canceled"]);
    assert_eq!(p.job.waits(), Waits::default());
}

#[test]
fn a_tools_own_no_is_an_answer_and_is_not_parked() {
    let mut p = Play::planned(parks(1), plan("a"));
    p.drive();
    p.result("g0.r0.a", 1, ToolResult::failed("no"), None);
    p.expect(&["finish failed"]);
}

#[test]
fn what_a_job_waits_for_is_named() {
    let mut p = Play::submit(agent(|agent| {
        agent.confirm = true;
        agent.deadline_ms = Some(60_000);
        agent.ask.deadline_ms = Some(5_000);
    }));
    assert_eq!(p.job.waits(), Waits::default());
    p.drive();
    assert_eq!(p.job.waits().commands, [Unit { work: work("g0.p1"), attempt: Attempt(1) }]);
    p.reply(1, PlanReply::Plan { plan: plan("a") });
    p.drive();
    let waits = p.job.waits();
    let timers: Vec<String> = waits.timers.iter().map(|arm| arm.timer.to_string()).collect();
    assert_eq!(timers, ["ask-q1", "deadline"]);
    assert_eq!(waits.questions, [AskId::new("q1").unwrap()]);
    assert!(waits.timers.iter().all(|arm| p.armed.get(&arm.timer) == Some(&arm.at)));
    assert!(p.job.is_asking(&waits.questions[0]) && waits.commands.is_empty());
}
