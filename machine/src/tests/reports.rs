//! Reports of jobs that end before their goal: results, open work, reason and next steps.

use proto::{
    agent::{Agent, OnFailure},
    budget::Spend,
    fact::{Asked, AskedKind, PlanNote, PlanPhase, PlanReply},
    job::{FailReason, Outcome},
    outline,
    policy::PlanProtocol,
};
use serde_json::json;

use super::play::{Play, agent, plan};

fn message(p: &Play) -> String {
    let Outcome::Failed { message, .. } = p.outcome() else { panic!("{:?}", p.outcome()) };
    message
}

#[test]
fn a_report_says_what_is_left_whatever_was_being_done() {
    // Before the first plan.
    let mut p = Play::submit(agent(|a| {
        a.budget.steps = Some(1);
        a.budget.counts = [Spend::Plan, Spend::Ask].into();
    }));
    p.drive();
    let kind = AskedKind::Query;
    let question = Asked { prompt: "when?".into(), kind, default: None };
    p.reply(1, PlanReply::Question { question });
    p.expect(&["finish failed"]);
    assert!(message(&p).contains("\nDone: nothing\nNot done:\n1. reach the goal\n"));

    // Between two actions of an outline.
    let mut p = Play::submit(agent(|a| {
        a.plan.protocol = PlanProtocol::Phased;
        (a.budget.steps, a.budget.counts) = (Some(1), [Spend::Thought].into());
    }));
    p.drive();
    let note = |phase, done: usize| {
        let mut outline = outline::of_texts(["look", "write", "send"]);
        let items = outline.iter_mut().take(done);
        items.for_each(|item| item.status = outline::ItemStatus::Done);
        PlanReply::Noted { note: PlanNote { phase, outline, response: None } }
    };
    p.reply(1, note(PlanPhase::Planned, 0));
    p.expect(&["plan g0.p2 #1"]);
    p.reply(2, note(PlanPhase::ItemDone, 1));
    p.expect(&["plan g0.p3 #1"]);
    p.reply(3, note(PlanPhase::Replanned, 1));
    p.expect(&["finish failed"]);
    assert!(message(&p).contains("\nNot done:\n1. write\n2. send\n"), "{}", message(&p));
}

#[test]
fn a_job_without_time_or_plans_left_ends_with_a_report() {
    let mut p = Play::planned(agent(|a| a.deadline_ms = Some(1000)), plan("a b<a"));
    p.drive();
    p.ok("g0.r0.a", json!(1));
    p.drive();
    p.fire("deadline");
    p.expect(&["finish failed"]);
    let said = "the job's deadline passed\nDone:\n1. 1\nNot done:\n1. do b\nWhy: the deadline passed\nNext: ";
    assert!(message(&p).starts_with(said), "{}", message(&p));

    let replanning = |a: &mut Agent| (a.step.on_failure, a.replan.max) = (OnFailure::Replan, 1);
    let mut p = Play::planned(agent(replanning), plan("a"));
    p.drive();
    p.no("g0.r0.a");
    p.drive();
    p.reply(2, PlanReply::Plan { plan: plan("b") });
    p.drive();
    p.no("g0.r1.b");
    p.expect(&["finish failed"]);
    let Outcome::Failed { reason, .. } = p.outcome() else { panic!("{:?}", p.outcome()) };
    assert_eq!(reason, FailReason::ReplanLimit);
    let left = "\nDone: nothing\nNot done:\n1. do b\nWhy: every plan has failed\n";
    assert!(message(&p).contains(left), "{}", message(&p));
}
