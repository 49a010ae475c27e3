//! Edits of a plan by a person.

use proto::{
    agent::StepExec,
    decision::{Decision, PlanTalk},
    fact::PlanReply,
    interaction::{Answer, QuestionKind, Verdict},
    job::JobState,
    plan::{Action, Plan},
};
use serde_json::json;

use super::play::{Play, agent, plan, plan_with};

fn edit(plan: &Plan, digest: Option<String>) -> Answer {
    let value = Some(serde_json::to_value(plan).unwrap());
    Answer { decision: Verdict::Edit, value, text: None, digest, remember: None }
}

fn shown(p: &Play) -> (Plan, String) {
    match p.view().questions[0].kind.clone() {
        QuestionKind::PlanCheck { plan, digest, .. } => (plan, digest),
        other => panic!("{other:?}"),
    }
}

fn checked(steps: &str) -> Play {
    let mut p = Play::submit(agent(|a| a.confirm = true));
    p.drive();
    p.reply(1, PlanReply::Plan { plan: plan(steps) });
    p.expect(&["ask q1 plan_check"]);
    p
}

#[test]
fn steps_are_added_removed_reordered_and_changed_and_nothing_runs_before_it_is_confirmed() {
    let mut p = checked("a b<a c");
    let mut changed = plan("c d b<c,d");
    changed.steps[0].description = "do it otherwise".into();
    let (_, digest) = shown(&p);
    p.answer_with("q1", edit(&changed, Some(digest.clone())));
    p.expect(&["ask q2 plan_check"]);
    let (seen, again) = shown(&p);
    assert_eq!(seen, changed);
    assert_ne!(again, digest, "an approval of the plan before is for nothing");
    p.answer_with("q2", Answer::approve(Some(digest)));
    p.expect(&[]);
    p.answer_with("q2", Answer::approve(Some(again)));
    p.expect(&["call g0.r0.c #1", "call g0.r0.d #1"]);
}

#[test]
fn a_plan_that_is_not_whole_changes_nothing_and_the_question_stays_open() {
    let mut p = checked("a b<a");
    for (steps, digest) in
        [("a<b b<a", None), ("a<x", None), ("a a", None), ("", None), ("a", Some("old".to_owned()))]
    {
        let ignored = p.view().ignored;
        p.answer_with("q1", edit(&plan(steps), digest));
        p.expect(&[]);
        assert_eq!((p.view().state, p.view().ignored), (JobState::InputRequired, ignored + 1));
    }
    p.answer_with("q1", Answer { value: None, ..edit(&plan("a"), None) });
    p.answer_with("q1", Answer { value: Some(json!({"steps": [1]})), ..edit(&plan("a"), None) });
    p.expect(&[]);
    assert_eq!(shown(&p).0, plan("a b<a"));
}

#[test]
fn words_after_an_edit_reach_the_planner_with_the_edited_plan() {
    let mut p = checked("a");
    p.answer_with("q1", edit(&plan("a b"), None));
    p.drive();
    p.answer("q2", Verdict::Respond, Some("and c"));
    p.expect(&["plan g0.p3 #1"]);
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    let heard = PlanTalk::Revised { plan: plan("a b"), words: "and c".into() };
    assert_eq!(work.dialogue, [heard]);
}

#[test]
fn a_plan_that_the_agent_cannot_carry_out_is_asked_about_once_more_as_it_was() {
    let mut p = Play::submit(agent(|a| {
        a.confirm = true;
        a.step.exec = StepExec::DirectTool;
    }));
    p.drive();
    p.reply(1, PlanReply::Plan { plan: plan("a") });
    p.drive();
    p.answer_with("q1", edit(&plan_with("a", |_| Action::Agent), None));
    p.expect(&["ask q2 plan_check"]);
    assert_eq!(shown(&p).0, plan("a"));
}

#[test]
fn only_a_plan_can_be_edited() {
    let mut p = Play::submit(agent(|a| a.plan.attempts = 1));
    p.drive();
    let asked = proto::fact::Asked {
        prompt: "When?".into(),
        kind: proto::fact::AskedKind::Query,
        default: None,
    };
    p.reply(1, PlanReply::Question { question: asked });
    p.drive();
    p.answer_with("q1", edit(&plan("a"), None));
    p.expect(&[]);
    assert_eq!(p.view().ignored, 1);
}
