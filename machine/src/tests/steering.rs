//! Instructions of users to a running job: the next plan or model turn carries them.

use proto::{
    agent::{PlanWhen, ReplanWhen},
    decision::{Decision, PlanTalk, TurnWork},
    fact::{PlanReply, Signal},
    plan::Action,
    policy::PlanProtocol,
    retry::RetryPolicy,
};
use serde_json::json;

use super::play::{Play, agent, calls, plan, plan_with, tool_call};

fn say(p: &mut Play, text: &str) {
    p.signal(Signal::Steer { text: text.into() });
}

#[track_caller]
fn turn(p: &Play) -> &TurnWork {
    let Some(Decision::Turn(work)) = p.decisions.last() else {
        panic!("no turn: {:?}", p.decisions)
    };
    work
}

fn steered(p: &Play) -> Vec<String> {
    let Some(Decision::Plan(work)) = p.decisions.last() else {
        panic!("no plan: {:?}", p.decisions)
    };
    let told = work.dialogue.iter().filter_map(|talk| match talk {
        PlanTalk::Steered { words } => Some(words.clone()),
        _ => None,
    });
    told.collect()
}

fn heard(p: &Play) -> Vec<bool> {
    p.view().instructions.into_iter().map(|said| said.heard).collect()
}

fn working() -> Play {
    let mut p = Play::submit(agent(|a| a.plan.when = PlanWhen::Never));
    p.expect(&["turn g0.r0.goal.n1.t1 #1"]);
    p
}

fn read(page: u32) -> proto::fact::TurnReply {
    calls(vec![tool_call("c", "read", json!({ "page": page }))])
}

#[test]
fn the_next_turn_carries_it_once() {
    let mut p = working();
    assert!(turn(&p).instructions.is_empty());
    say(&mut p, "in metres");
    assert_eq!(heard(&p), [false]);
    p.expect(&[]);
    p.turn("g0.r0.goal.n1.t1", read(1));
    p.drive();
    say(&mut p, "and be brief");
    p.ok("g0.r0.goal.n1.t1.c0", json!(1));
    p.expect(&["turn g0.r0.goal.n1.t2 #1"]);
    assert_eq!(turn(&p).instructions, ["in metres", "and be brief"]);
    assert_eq!(heard(&p), [true, true]);
    p.turn("g0.r0.goal.n1.t2", read(2));
    p.drive();
    p.ok("g0.r0.goal.n1.t2.c0", json!(1));
    p.expect(&["turn g0.r0.goal.n1.t3 #1"]);
    assert!(turn(&p).instructions.is_empty(), "the transcript has it already");
}

#[test]
fn a_turn_that_is_tried_again_carries_it_again() {
    let retry = RetryPolicy { jitter: 0.0, ..RetryPolicy::default() };
    let mut p = Play::submit(agent(|a| {
        a.plan.when = PlanWhen::Never;
        a.tool.retry = retry;
    }));
    say(&mut p, "first");
    p.expect(&["turn g0.r0.goal.n1.t1 #1"]);
    assert_eq!(turn(&p).instructions, ["first"]);
    say(&mut p, "second");
    let error = super::play::transient();
    p.turn("g0.r0.goal.n1.t1", proto::fact::TurnReply::Failed { error });
    p.drive();
    p.fire("retry-1");
    p.expect(&["turn g0.r0.goal.n1.t1 #2"]);
    assert_eq!(turn(&p).instructions, ["first", "second"]);
    p.turn("g0.r0.goal.n1.t1", read(1));
    p.drive();
    p.ok("g0.r0.goal.n1.t1.c0", json!(1));
    p.expect(&["turn g0.r0.goal.n1.t2 #1"]);
    assert!(turn(&p).instructions.is_empty());
}

#[test]
fn a_turn_that_was_decided_before_it_was_said_does_not_carry_it_and_the_next_one_does() {
    let mut p = Play::submit(agent(|a| a.plan.when = PlanWhen::Never));
    let decided = p.job.decide().unwrap().decision;
    say(&mut p, "in metres");
    p.decision(decided);
    assert_eq!(heard(&p), [false]);
    p.turn("g0.r0.goal.n1.t1", read(1));
    p.drive();
    p.ok("g0.r0.goal.n1.t1.c0", json!(1));
    p.drive();
    assert_eq!(turn(&p).instructions, ["in metres"]);
}

#[test]
fn every_step_and_every_run_is_told_all_of_it() {
    let again = RetryPolicy { max_attempts: 2, jitter: 0.0, ..RetryPolicy::default() };
    let mut p =
        Play::planned(agent(|a| a.step.retry = again), plan_with("a b<a", |_| Action::Agent));
    say(&mut p, "in metres");
    p.expect(&["turn g0.r0.a.n1.t1 #1"]);
    p.done("g0.r0.a.n1.t1", false, "no");
    p.drive();
    p.fire("retry-1");
    p.expect(&["turn g0.r0.a.n2.t1 #1"]);
    assert_eq!(turn(&p).instructions, ["in metres"]);
    p.done("g0.r0.a.n2.t1", true, "yes");
    p.expect(&["turn g0.r0.b.n1.t1 #1"]);
    assert_eq!(turn(&p).instructions, ["in metres"]);
}

#[test]
fn the_planner_is_told_what_was_said_while_it_planned() {
    let mut p = Play::submit(agent(|a| a.confirm = true));
    p.drive();
    say(&mut p, "no mails");
    p.reply(1, PlanReply::Plan { plan: plan("a") });
    p.expect(&["ask q1 plan_check"]);
    p.answer("q1", proto::interaction::Verdict::Respond, Some("shorter"));
    p.expect(&["plan g0.p2 #1"]);
    assert_eq!(steered(&p), ["no mails"]);
    assert_eq!(heard(&p), [true]);
}

#[test]
fn a_planner_that_decides_every_turn_hears_it_at_the_next() {
    let mut p = Play::submit(agent(|a| a.plan.protocol = PlanProtocol::Decision));
    p.drive();
    p.reply(1, PlanReply::Plan { plan: plan("a") });
    p.drive();
    say(&mut p, "stop soon");
    p.expect(&[]);
    p.ok("g0.r0.a", json!(1));
    p.expect(&["plan g0.p2 #1"]);
    assert_eq!(steered(&p), ["stop soon"]);
}

#[test]
fn where_nothing_that_is_left_could_hear_it_the_plan_is_made_anew() {
    let mut p = Play::planned(agent(|_| {}), plan("a b<a"));
    p.expect(&["call g0.r0.a #1"]);
    say(&mut p, "not b but c");
    p.expect(&[]);
    p.ok("g0.r0.a", json!(1));
    p.expect(&["plan g0.p2 #1"]);
    assert_eq!(steered(&p), ["not b but c"]);
    p.reply(2, PlanReply::Plan { plan: plan("c<a") });
    p.expect(&["call g0.r1.c #1"]);
    p.ok("g0.r1.c", json!(2));
    p.expect(&["finish completed"]);
    assert_eq!(p.view().revisions[1].cause, Some(proto::revision::Cause::Steered));
}

#[test]
fn but_not_where_there_is_nothing_to_plan_with_or_it_is_never_made_anew() {
    let mut p = Play::planned(agent(|a| a.replan.when = Some(ReplanWhen::Never)), plan("a b<a"));
    p.drive();
    say(&mut p, "not b but c");
    p.ok("g0.r0.a", json!(1));
    p.expect(&["call g0.r0.b #1"]);
    p.ok("g0.r0.b", json!(1));
    p.expect(&["finish completed"]);
    assert_eq!(heard(&p), [false], "and it can be seen that nobody heard it");
}

#[test]
fn after_the_end_it_changes_nothing() {
    let mut p = working();
    p.done("g0.r0.goal.n1.t1", true, "42");
    p.expect(&["finish completed"]);
    say(&mut p, "too late");
    assert_eq!(p.view().ignored, 1);
    assert!(p.view().instructions.is_empty());
}

#[test]
fn an_instruction_is_heard_when_no_replans_are_left_and_uses_none_up() {
    let change = |a: &mut proto::agent::Agent| {
        (a.replan.when, a.replan.max) = (Some(ReplanWhen::AfterEachStep), 1);
    };
    let mut p = Play::planned(agent(change), plan("a b c"));
    p.drive();
    say(&mut p, "first of all d");
    for step in ["a", "b", "c"] {
        p.ok(&format!("g0.r0.{step}"), json!(1));
    }
    p.expect(&["plan g0.p2 #1"]);
    p.reply(2, PlanReply::Plan { plan: plan("d e<d") });
    p.drive();
    p.ok("g0.r1.d", json!(1));
    p.expect(&["call g0.r1.e #1"]);
    say(&mut p, "and f");
    p.ok("g0.r1.e", json!(1));
    p.expect(&["plan g0.p3 #1"]);
    assert_eq!(steered(&p), ["first of all d", "and f"]);
    p.reply(3, PlanReply::Plan { plan: plan("f") });
    p.drive();
    p.ok("g0.r2.f", json!(1));
    p.expect(&["finish completed"]);
}
