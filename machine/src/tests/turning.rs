//! Steps that loop over model turns and tool calls.

use proto::{
    decision::{CallReply, Decision},
    fact::{Asked, AskedKind, CallTarget, TurnCall, TurnReply},
    id::{Seq, ToolName},
    interaction::Answer,
    job::{JobState, Outcome},
    plan::Action,
    tool::{Approval, Binding, Fault},
};
use serde_json::json;

use super::play::{Play, agent, binding, plan_with};

fn tool(id: &str, approval: Approval) -> TurnCall {
    let binding = Binding { approval, ..binding() };
    let target = CallTarget::Tool { tool: ToolName::new("read").unwrap(), binding };
    TurnCall { id: id.into(), name: "read".into(), args: json!({"path": "x"}), target }
}

fn person(id: &str) -> TurnCall {
    let question = Asked { prompt: "Sure?".into(), kind: AskedKind::Query, default: None };
    TurnCall {
        id: id.into(),
        name: "ask_user".into(),
        args: json!({}),
        target: CallTarget::Person { question },
    }
}

fn calls(calls: Vec<TurnCall>) -> TurnReply {
    TurnReply::Calls { text: String::new(), calls }
}

fn looping() -> Play {
    let mut p = Play::planned(agent(|_| {}), plan_with("a b<a", |_| Action::Agent));
    p.expect(&["turn g0.r0.a.n1.t1 #1"]);
    p
}

#[test]
fn the_results_of_parallel_calls_reach_the_next_turn_in_the_models_order() {
    let mut p = looping();
    p.turn("g0.r0.a.n1.t1", calls(vec![tool("x", Approval::Never), tool("y", Approval::Never)]));
    let heard = p.job.seq();
    p.expect(&["call g0.r0.a.n1.t1.c0 #1", "call g0.r0.a.n1.t1.c1 #1"]);
    p.ok("g0.r0.a.n1.t1.c1", json!("second"));
    p.expect(&[]);
    p.ok("g0.r0.a.n1.t1.c0", json!("first"));
    p.expect(&["turn g0.r0.a.n1.t2 #1"]);
    let [Decision::Turn(turn)] = p.decisions.as_slice() else { panic!("not one turn") };
    let texts: Vec<_> = turn.replies.iter().map(|r| (r.id.as_str(), r.text.as_str())).collect();
    assert_eq!(
        texts,
        [("x", r#"{"success":true,"data":"first"}"#), ("y", r#"{"success":true,"data":"second"}"#)]
    );
    assert_eq!((turn.after, &turn.task), (Some(heard), &None));
    p.done("g0.r0.a.n1.t2", true, "read it");
    p.expect(&["turn g0.r0.b.n1.t1 #1"]);
    let [Decision::Turn(turn)] = p.decisions.as_slice() else { panic!("not one turn") };
    assert_eq!(turn.task.as_ref().unwrap().dependencies[0].response, "read it");
    assert_eq!(p.view().usage.input_tokens, 20);
}

#[test]
fn a_result_that_comes_again_while_its_turn_goes_on_changes_nothing() {
    let mut p = looping();
    p.turn("g0.r0.a.n1.t1", calls(vec![tool("x", Approval::Never), tool("y", Approval::Never)]));
    p.drive();
    p.ok("g0.r0.a.n1.t1.c0", json!("first"));
    p.ok("g0.r0.a.n1.t1.c0", json!("again"));
    p.ok("g0.r0.a.n1.t1.c1", json!("other"));
    p.drive();
    let [Decision::Turn(turn)] = p.decisions.as_slice() else { panic!("not one turn") };
    assert_eq!(turn.replies[0].text, r#"{"success":true,"data":"first"}"#);
    assert_eq!(p.view().ignored, 1);
}

#[test]
fn a_failing_tool_is_told_to_the_model_and_ends_nothing() {
    let mut p = looping();
    p.turn("g0.r0.a.n1.t1", calls(vec![tool("x", Approval::Never)]));
    p.drive();
    p.no("g0.r0.a.n1.t1.c0");
    p.expect(&["turn g0.r0.a.n1.t2 #1"]);
    let [Decision::Turn(turn)] = p.decisions.as_slice() else { panic!("not one turn") };
    assert_eq!(turn.replies[0].text, r#"{"success":false,"error":"no"}"#);
}

#[test]
fn a_call_whose_effect_is_unknown_is_told_as_that() {
    let mut p = looping();
    p.turn("g0.r0.a.n1.t1", calls(vec![tool("x", Approval::Never)]));
    p.drive();
    p.fault("g0.r0.a.n1.t1.c0", Fault::Unknown);
    p.drive();
    let [Decision::Turn(turn)] = p.decisions.as_slice() else { panic!("not one turn") };
    assert!(turn.replies[0].text.contains("not known whether"), "{}", turn.replies[0].text);
}

#[test]
fn a_question_in_the_middle_of_a_step_parks_it_and_the_answer_goes_on() {
    let mut p = looping();
    p.turn("g0.r0.a.n1.t1", calls(vec![person("x")]));
    p.expect(&["ask q1 question"]);
    assert_eq!(
        (p.view().state, p.states()),
        (JobState::InputRequired, "a:waiting b:pending".into())
    );
    p.answer_with("q1", Answer::respond(json!("yes")));
    p.expect(&["turn g0.r0.a.n1.t2 #1"]);
    let [Decision::Turn(turn)] = p.decisions.as_slice() else { panic!("not one turn") };
    let reply =
        CallReply { id: "x".into(), name: "ask_user".into(), text: "yes".into(), whole: None };
    assert_eq!(turn.replies, [reply]);
    assert_eq!(turn.after.map(|seq| seq > Seq(0)), Some(true));
}

#[test]
fn questions_beyond_the_limit_are_refused_to_the_model() {
    let mut p = Play::planned(
        agent(|a| a.ask.limit = proto::policy::AskLimit::AtMost(1)),
        plan_with("a", |_| Action::Agent),
    );
    p.drive();
    p.turn("g0.r0.a.n1.t1", calls(vec![person("x"), person("y")]));
    p.expect(&["ask q1 question"]);
    p.answer_with("q1", Answer::respond(json!("yes")));
    p.drive();
    let [Decision::Turn(turn)] = p.decisions.as_slice() else { panic!("not one turn") };
    assert!(turn.replies[1].text.starts_with("No more questions"), "{}", turn.replies[1].text);
    assert!(!turn.may_ask);
}

#[test]
fn what_cannot_be_run_is_told_to_the_model_at_once() {
    let mut p = looping();
    let target = CallTarget::Refused { error: "no tool called fly".into() };
    let call = TurnCall { id: "x".into(), name: "fly".into(), args: json!({}), target };
    p.turn("g0.r0.a.n1.t1", calls(vec![call]));
    p.expect(&["turn g0.r0.a.n1.t2 #1"]);
}

#[test]
fn a_guarded_call_in_a_turn_waits_for_its_approval() {
    let mut p = looping();
    p.turn("g0.r0.a.n1.t1", calls(vec![tool("x", Approval::Always), tool("y", Approval::Never)]));
    let mut asked = p.drive();
    asked.sort();
    assert_eq!(asked, ["ask q1 tool_approval", "call g0.r0.a.n1.t1.c1 #1"]);
    p.answer("q1", proto::interaction::Verdict::Reject, None);
    p.ok("g0.r0.a.n1.t1.c1", json!(1));
    p.drive();
    let [Decision::Turn(turn)] = p.decisions.as_slice() else { panic!("not one turn") };
    assert_eq!(turn.replies[0].text, "A person did not approve this call.");
}

#[test]
fn a_run_that_uses_up_its_turns_fails() {
    let mut p = Play::planned(agent(|a| a.step.max_turns = 2), plan_with("a", |_| Action::Agent));
    p.drive();
    p.turn("g0.r0.a.n1.t1", calls(vec![tool("x", Approval::Never)]));
    p.drive();
    p.ok("g0.r0.a.n1.t1.c0", json!(1));
    p.drive();
    p.turn("g0.r0.a.n1.t2", calls(vec![tool("x", Approval::Never)]));
    p.expect(&["finish failed"]);
    let Outcome::Failed { message, .. } = p.outcome() else { panic!("not failed") };
    assert_eq!(message, "step a failed: no result within 2 model turns");
}

/// The fixed arguments of a tool are part of every call of it, in plans and turns, and of every
/// approval. No model is shown them.
#[test]
fn what_an_agent_fixes_of_a_tool_is_in_every_call() {
    let fixed = |a: &mut proto::agent::Agent| {
        a.tool.presets =
            serde_json::from_value(json!({"read": {"path": "{{fixed}}", "max": 7}})).unwrap();
    };
    let whole = json!({"path": "{{fixed}}", "max": 7});
    let step = |_: &str| Action::Tool {
        tool: ToolName::new("read").unwrap(),
        args: json!({}),
        binding: Binding { approval: Approval::Always, ..binding() },
    };
    let mut p = Play::planned(agent(fixed), plan_with("a", step));
    p.expect(&["ask q1 tool_approval"]);
    let question = p.view().questions[0].clone();
    let proto::interaction::QuestionKind::ToolApproval { args, digest, .. } = question.kind else {
        panic!("no approval")
    };
    assert_eq!(args, whole);
    p.answer_with("q1", Answer::approve(Some(digest)));
    p.drive();
    let [Decision::Call(call)] = p.decisions.as_slice() else { panic!("not one call") };
    assert_eq!(call.args, whole);

    let mut p = Play::planned(agent(fixed), plan_with("a", |_| Action::Agent));
    p.drive();
    let Some(Decision::Turn(turn)) = p.decisions.last() else { panic!("no turn") };
    assert!(!turn.model.presets.is_empty(), "the executor hides them");
    p.turn("g0.r0.a.n1.t1", calls(vec![tool("x", Approval::Never)]));
    p.drive();
    let [Decision::Call(call)] = p.decisions.as_slice() else { panic!("not one call") };
    assert_eq!(call.args, whole, "what the model said otherwise does not count");
}
