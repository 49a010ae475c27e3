//! Questions of planners, approvals, deadlines and limits.

use jiff::SignedDuration;
use proto::{
    agent::OnFailure,
    decision::{Decision, PlanTalk},
    fact::{Asked, AskedKind, PlanReply, Signal},
    id::ToolName,
    interaction::{Answer, QuestionKind, Verdict},
    job::{FailReason, JobState, Outcome, SubStatus},
    limits,
    plan::Action,
    policy::AskLimit,
    tool::{Approval, Binding},
};
use serde_json::json;

use super::play::{self, Play, agent, binding, calls, plan, plan_with};

fn question() -> PlanReply {
    let kind = AskedKind::Query;
    PlanReply::Question { question: Asked { prompt: "Which one?".into(), kind, default: None } }
}

fn guarded(_: &str) -> Action {
    Action::Tool {
        tool: ToolName::new("send_mail").unwrap(),
        args: json!({"to": "ann"}),
        binding: Binding { approval: Approval::Always, ..binding() },
    }
}

#[test]
fn a_question_parks_the_job_and_its_answer_reaches_the_planner() {
    let mut p = Play::submit(agent(|_| {}));
    p.drive();
    p.reply(1, question());
    p.expect(&["ask q1 question"]);
    assert_eq!(
        (p.view().state, p.view().sub_status),
        (JobState::InputRequired, Some(SubStatus::Parked))
    );
    assert!(!p.job.has_work_out(), "a parked job needs no memory");
    p.answer_with("q1", Answer::respond(json!("the red one")));
    p.expect(&["plan g0.p2 #1"]);
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    let heard =
        PlanTalk::Asked { question: "Which one?".into(), kind: None, answer: "the red one".into() };
    assert_eq!((work.dialogue.as_slice(), work.may_ask), ([heard].as_slice(), true));
}

#[test]
fn a_question_is_as_old_as_its_asking_whatever_happens_meanwhile() {
    let mut p = Play::planned(agent(|_| {}), plan_with("a b", guarded));
    p.drive();
    let last = p.job.updated();
    let first = last.checked_sub(SignedDuration::from_millis(1)).unwrap();
    let stands = |p: &Play| p.job.standing().map(|s| (s.questions, s.asked)).unwrap();
    p.signal(Signal::Pause);
    p.signal(Signal::Resume);
    assert_eq!(stands(&p), (2, Some(first)));
    p.answer("q1", Verdict::Reject, None);
    assert_eq!(stands(&p), (1, Some(last)));
    p.answer("q2", Verdict::Reject, None);
    assert_eq!(stands(&p), (0, None));
}

#[test]
fn at_the_limit_the_planner_must_plan() {
    let mut p = Play::submit(agent(|a| a.ask.limit = proto::policy::AskLimit::AtMost(1)));
    p.drive();
    p.reply(1, question());
    p.drive();
    p.answer_with("q1", Answer::respond(json!("x")));
    p.drive();
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    assert!(!work.may_ask);
    p.reply(2, question());
    p.expect(&["plan g0.p3 #1"]);
    assert_eq!(p.view().questions.len(), 0);
}

#[test]
fn the_first_answer_counts_and_later_ones_change_nothing() {
    let mut p = Play::submit(agent(|_| {}));
    p.drive();
    p.reply(1, question());
    p.drive();
    p.answer_with("q1", Answer::respond(json!("first")));
    p.answer_with("q1", Answer::respond(json!("second")));
    p.answer_with("q7", Answer::respond(json!("unasked")));
    p.expect(&["plan g0.p2 #1"]);
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    assert!(
        matches!(work.dialogue.as_slice(), [PlanTalk::Asked { answer, .. }] if answer == "first")
    );
    assert_eq!(p.view().ignored, 2);
}

#[test]
fn a_question_that_expires_takes_its_default_and_the_inbox_is_told() {
    let mut p = Play::submit(agent(|a| a.ask.deadline_ms = Some(1000)));
    p.drive();
    let asked =
        Asked { prompt: "Colour?".into(), kind: AskedKind::Query, default: Some(json!("red")) };
    p.reply(1, PlanReply::Question { question: asked });
    p.expect(&["ask q1 question"]);
    p.fire("ask-q1");
    p.expect(&["close q1 Expired", "plan g0.p2 #1"]);
    let Some(Decision::Plan(work)) = p.decisions.last() else { panic!("no plan") };
    assert!(
        matches!(work.dialogue.as_slice(), [PlanTalk::Asked { answer, .. }] if answer == "red")
    );
    p.answer_with("q1", Answer::respond(json!("too late")));
    assert_eq!(p.view().ignored, 1);
}

#[test]
fn a_question_that_expires_without_a_default_fails_the_job() {
    let mut p = Play::submit(agent(|a| a.ask.deadline_ms = Some(1000)));
    p.drive();
    p.reply(1, question());
    p.drive();
    p.fire("ask-q1");
    p.expect(&["close q1 Expired", "finish failed"]);
    let Outcome::Failed { reason, .. } = p.outcome() else { panic!("not failed") };
    assert_eq!(reason, FailReason::QuestionExpired);
}

#[test]
fn the_timer_of_an_answered_question_is_canceled() {
    let mut p = Play::submit(agent(|a| a.ask.deadline_ms = Some(1000)));
    p.drive();
    p.reply(1, question());
    p.drive();
    assert_eq!(p.armed.len(), 1);
    p.answer_with("q1", Answer::respond(json!("x")));
    p.drive();
    assert_eq!(p.armed.len(), 0);
}

#[test]
fn a_guarded_tool_runs_only_as_it_was_approved() {
    let mut p = Play::planned(agent(|_| {}), plan_with("a", guarded));
    p.expect(&["ask q1 tool_approval"]);
    let QuestionKind::ToolApproval { digest, args, .. } = p.view().questions[0].kind.clone() else {
        panic!("not an approval")
    };
    assert_eq!(args, json!({"to": "ann"}));
    p.answer_with("q1", Answer::approve(Some("of something else".into())));
    p.expect(&[]);
    p.answer_with("q1", Answer::approve(Some(digest.clone())));
    p.expect(&["call g0.r0.a #1"]);
    let [Decision::Call(call)] = p.decisions.as_slice() else { panic!("not one call") };
    assert_eq!(call.approved, Some(digest));
}

#[test]
fn a_tool_that_is_not_approved_never_runs() {
    let mut p = Play::planned(agent(|_| {}), plan_with("a", guarded));
    p.drive();
    p.answer("q1", Verdict::Reject, Some("not to ann"));
    p.expect(&["finish failed"]);
    let Outcome::Failed { message, .. } = p.outcome() else { panic!("not failed") };
    assert_eq!(message, "step a failed: A person did not approve this call: not to ann");
}

#[test]
fn one_step_waits_for_a_person_while_another_runs() {
    let step =
        |name: &str| if name == "a" { guarded(name) } else { plan("b").steps[0].action.clone() };
    let mut p = Play::planned(agent(|_| {}), plan_with("a b", step));
    p.expect(&["ask q1 tool_approval", "call g0.r0.b #1"]);
    assert_eq!(p.states(), "a:waiting b:running");
    assert_eq!(p.view().state, JobState::Working);
    p.ok("g0.r0.b", json!(1));
    assert_eq!(p.view().state, JobState::InputRequired);
}

/// The limit on open questions: an approval waits until a question closes, and an agent is told
/// that the limit is reached.
#[test]
fn no_more_questions_are_open_at_a_time_than_may_be() {
    let most = limits::OPEN_QUESTIONS_MAX;
    let names: Vec<_> = (0..=most).map(|n| format!("s{n}")).collect();
    let steps = |name: &str| if name == "loop" { Action::Agent } else { guarded(name) };
    let mut p = Play::planned(
        agent(|a| {
            a.ask.limit = AskLimit::Unlimited;
            a.step.on_failure = OnFailure::Continue;
            a.guard.failing_warn = 1;
        }),
        plan_with(&format!("loop {}", names.join(" ")), steps),
    );
    p.drive();
    assert_eq!(p.view().questions.len(), most);
    p.turn("g0.r0.loop.n1.t1", calls(vec![play::question("c", "When?")]));
    p.expect(&["turn g0.r0.loop.n1.t2 #1"]);
    let Some(Decision::Turn(turn)) = p.decisions.last() else { panic!("no turn") };
    assert!(turn.replies[0].text.starts_with("100 questions of this job wait"), "{turn:?}");
    assert!(turn.notices.is_empty(), "the refusal is no failure of the tool: {turn:?}");
    p.answer("q1", Verdict::Reject, None);
    let labels = p.drive();
    assert!(labels.contains(&format!("ask q{} tool_approval", most + 1)), "{labels:?}");
    assert_eq!(p.view().questions.len(), most);
}
