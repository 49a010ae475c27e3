//! Rounds with the planner.

use proto::{
    agent::{OnUnparseable, PlanWhen},
    budget::Spend,
    decision::{Decision, PlanTalk},
    fact::PlanReply,
    interaction::Verdict,
    job::{FailReason, JobState, Outcome, SubStatus},
    plan::Plan,
};

use super::play::{Play, agent, plan};

#[test]
fn an_unparseable_plan_is_retried_with_the_error_shown_and_then_fails() {
    let mut p = Play::submit(agent(|a| a.plan.attempts = 2));
    p.expect(&["plan g0.p1 #1"]);
    p.unparseable(1);
    p.expect(&["plan g0.p2 #1"]);
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    let shown = PlanTalk::Rejected { reply: "Sure!".into(), error: "no JSON".into() };
    assert_eq!(work.dialogue, [shown]);
    p.unparseable(2);
    p.expect(&["finish failed"]);
    let Outcome::Failed { reason, message, .. } = p.outcome() else { panic!("not failed") };
    assert_eq!(reason, FailReason::PlanFailed);
    assert_eq!(message, "no usable plan was made: no JSON");
}

#[test]
fn a_failed_round_is_an_observation_that_counts_a_step_and_the_last_one_ends_the_job() {
    let mut p = Play::submit(agent(|a| (a.plan.attempts, a.plan.rounds) = (2, 2)));
    for round in 1..=4 {
        p.expect(&[&format!("plan g0.p{round} #1")]);
        let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
        let observed = work.dialogue.iter().filter(|talk| {
            matches!(talk, PlanTalk::Rejected { error, .. } if error.starts_with("planning failed 2"))
        });
        assert_eq!(observed.count(), usize::from(round > 2), "{:?}", work.dialogue);
        p.unparseable(round);
    }
    p.expect(&["finish failed"]);
    let Outcome::Failed { reason, message, .. } = p.outcome() else { panic!("not failed") };
    assert_eq!(reason, FailReason::PlanFailed);
    for part in ["no usable plan was made: no JSON", "Done:", "Not done:", "Why:", "Next:"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!message.contains("/todo"), "{message}");
}

#[test]
fn an_action_that_cannot_be_carried_out_is_an_observation_until_no_step_is_left() {
    let mut p = Play::submit(agent(|a| {
        (a.plan.attempts, a.plan.rounds) = (1, 2);
        (a.budget.steps, a.budget.counts) = (Some(2), [Spend::Tool].into());
    }));
    let refused = PlanReply::Unparseable { text: "?".into(), error: "no".into(), action: true };
    for round in 1..=3 {
        p.expect(&[&format!("plan g0.p{round} #1")]);
        p.reply(round, refused.clone());
    }
    p.expect(&["finish failed"]);
    let Outcome::Failed { reason, .. } = p.outcome() else { panic!("not failed") };
    assert_eq!(reason, FailReason::BudgetExceeded);
}

#[test]
fn or_a_person_is_asked_and_their_words_reach_the_planner() {
    let mut p = Play::submit(agent(|a| {
        a.plan.attempts = 1;
        a.plan.on_unparseable = OnUnparseable::Ask;
    }));
    p.drive();
    p.unparseable(1);
    p.expect(&["ask q1 question"]);
    p.answer_with("q1", proto::interaction::Answer::respond("keep it short".into()));
    p.expect(&["plan g0.p2 #1"]);
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    assert!(
        matches!(work.dialogue.last(), Some(PlanTalk::Asked { answer, .. }) if answer == "keep it short")
    );
}

#[test]
fn a_plan_that_is_not_whole_goes_back_to_the_planner_as_a_whole() {
    for (steps, expected) in [
        ("a<b b<a", "Circular dependency"),
        ("a<a", "depends on itself"),
        ("a<x", "not a step"),
        ("a a", "two steps"),
        ("", "no steps"),
    ] {
        let mut p = Play::submit(agent(|_| {}));
        p.drive();
        p.reply(1, PlanReply::Plan { plan: plan(steps) });
        p.expect(&["plan g0.p2 #1"]);
        let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
        let Some(PlanTalk::Rejected { error, .. }) = work.dialogue.last() else {
            panic!("not rejected")
        };
        assert!(error.contains(expected), "{steps:?}: {error}");
    }
}

#[test]
fn an_empty_plan_ends_the_job_where_the_policy_allows_it() {
    let mut p = Play::submit(agent(|a| a.plan.allow_empty = true));
    p.drive();
    p.reply(1, PlanReply::Plan { plan: Plan { title: "nothing".into(), ..Plan::default() } });
    p.expect(&["finish completed"]);
}

#[test]
fn a_planner_may_answer_at_once_where_the_policy_allows_an_empty_plan() {
    let finished = || PlanReply::Finished { response: "it is 42".into(), language: None };
    // An empty plan is not confirmed.
    for confirm in [false, true] {
        let change = |a: &mut proto::agent::Agent| {
            (a.plan.allow_empty, a.confirm) = (true, confirm);
        };
        let mut p = Play::submit(agent(change));
        p.drive();
        let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
        assert!(work.may_be_empty, "the planner is told");
        p.reply(1, finished());
        p.expect(&["finish completed"]);
        let Outcome::Completed { summary, .. } = p.outcome() else { panic!("not completed") };
        assert_eq!(summary, "it is 42");
    }
    let mut p = Play::submit(agent(|_| {}));
    p.drive();
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    assert!(!work.may_be_empty);
    p.reply(1, finished());
    p.expect(&["plan g0.p2 #1"]);
}

#[test]
fn nothing_runs_before_the_plan_is_confirmed() {
    let mut p = Play::submit(agent(|a| a.confirm = true));
    assert_eq!(p.view().state, JobState::Submitted);
    p.drive();
    assert_eq!(p.view().sub_status, Some(SubStatus::Planning));
    p.reply(1, PlanReply::Plan { plan: plan("a b<a") });
    p.expect(&["ask q1 plan_check"]);
    assert_eq!(p.view().state, JobState::InputRequired);
    assert_eq!(p.states(), "a:pending b:pending");
    assert!(!p.view().plan.unwrap().confirmed);
    p.expect(&[]);
    p.answer("q1", Verdict::Approve, None);
    p.expect(&["call g0.r0.a #1"]);
}

#[test]
fn words_instead_of_a_yes_revise_the_plan_and_it_is_checked_again() {
    let mut p = Play::submit(agent(|a| a.confirm = true));
    p.drive();
    p.reply(1, PlanReply::Plan { plan: plan("a") });
    p.drive();
    p.answer("q1", Verdict::Respond, Some("do b as well"));
    p.expect(&["plan g0.p2 #1"]);
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    assert!(
        matches!(work.dialogue.as_slice(), [PlanTalk::Revised { words, .. }] if words == "do b as well")
    );
    p.reply(2, PlanReply::Plan { plan: plan("a b") });
    p.expect(&["ask q2 plan_check"]);
    p.answer("q2", Verdict::Approve, None);
    p.expect(&["call g0.r0.a #1", "call g0.r0.b #1"]);
}

#[test]
fn a_rejected_plan_cancels_the_job() {
    let mut p = Play::submit(agent(|a| a.confirm = true));
    p.drive();
    p.reply(1, PlanReply::Plan { plan: plan("a") });
    p.drive();
    p.answer("q1", Verdict::Reject, Some("no need"));
    p.expect(&["finish canceled"]);
    assert_eq!(p.outcome(), Outcome::Canceled { reason: Some("no need".into()) });
}

#[test]
fn an_approval_of_another_plan_than_the_one_shown_does_not_count() {
    let mut p = Play::submit(agent(|a| a.confirm = true));
    p.drive();
    p.reply(1, PlanReply::Plan { plan: plan("a") });
    p.drive();
    p.answer_with("q1", proto::interaction::Answer::approve(Some("another".into())));
    p.expect(&[]);
    assert_eq!((p.view().state, p.view().ignored), (JobState::InputRequired, 1));
}

#[test]
fn without_planning_the_goal_is_the_only_step() {
    let mut p = Play::submit(agent(|a| a.plan.when = PlanWhen::Never));
    p.expect(&["turn g0.r0.goal.n1.t1 #1"]);
    p.done("g0.r0.goal.n1.t1", true, "42");
    p.expect(&["finish completed"]);
}
