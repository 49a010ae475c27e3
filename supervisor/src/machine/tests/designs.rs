//! What the designs that the presets follow ask for to the letter: fixed texts, the form in which
//! answers come back, what a later step reads. Which requirement it is, docs/requirements.md says.

use proto::{
    agent::{Agent, OnUnparseable},
    decision::{Decision, PlanTalk},
    event::{Happened, Projection, Stream},
    fact::{Asked, AskedKind, CallTarget, PlanReply, TurnCall, TurnReply},
    id::ToolName,
    interaction::{Answer, Choice, Field, Input, Verdict},
    job::Outcome,
    lang::Language,
    plan::Action,
    policy::AskLimit,
    tool::ToolResult,
};
use rstest::rstest;
use serde_json::{Value, json};

use super::play::{Play, agent, binding, calls, plan, plan_with, tool_call};
use crate::machine::Job;

fn select(multiple: bool) -> AskedKind {
    let choice =
        |value: &str, label: &str| Choice { value: value.into(), label: Some(label.into()) };
    AskedKind::Select { options: vec![choice("r", "Red"), choice("b", "Blue")], multiple }
}

fn form() -> AskedKind {
    let field = |key: &str, input: Input| Field {
        key: key.into(),
        label: key.into(),
        input,
        required: true,
        description: None,
        default: None,
    };
    let text = Input::Text { max_length: None, min_length: None, multiline: false };
    let number = Input::Number { min: None, max: None, integer: true };
    AskedKind::Form { fields: vec![field("to", text), field("days", number)] }
}

/// The planner and a loop hear the same words: the value of an option and not its label, a list of
/// them, the values of a form as JSON.
#[rstest]
#[case::words(AskedKind::Query, json!("tomorrow"), "tomorrow")]
#[case::one_option(select(false), json!("b"), "b")]
#[case::several_options(select(true), json!(["r", "b"]), r#"["r","b"]"#)]
#[case::a_form(form(), json!({"days": 3, "to": "Kyoto"}), r#"{"days":3,"to":"Kyoto"}"#)]
fn an_answer_goes_back_in_the_form_that_models_are_told_of(
    #[case] kind: AskedKind,
    #[case] value: Value,
    #[case] expected: &str,
) {
    let question = Asked { prompt: "Which?".into(), kind, default: None };
    let mut p = Play::submit(agent(|_| {}));
    p.drive();
    p.reply(1, PlanReply::Question { question: question.clone() });
    p.drive();
    p.answer_with("q1", Answer::respond(value.clone()));
    p.drive();
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    let heard = PlanTalk::Asked { question: "Which?".into(), answer: expected.into() };
    assert_eq!(work.dialogue, [heard]);

    let mut p = Play::planned(agent(|_| {}), plan_with("a", |_| Action::Agent));
    p.drive();
    let target = CallTarget::Person { question };
    let call = TurnCall { id: "c7".into(), name: "ask_user".into(), args: json!({}), target };
    p.turn("g0.r0.a.n1.t1", calls(vec![call]));
    p.drive();
    p.answer_with("q1", Answer::respond(value));
    p.drive();
    let [Decision::Turn(turn)] = p.decisions.as_slice() else { panic!("not one turn") };
    assert_eq!((turn.replies[0].id.as_str(), turn.replies[0].text.as_str()), ("c7", expected));
}

#[test]
fn a_plan_that_was_forced_at_the_limit_is_confirmed_like_any_other() {
    let mut p = Play::submit(agent(|a| {
        a.confirm = true;
        a.ask.limit = AskLimit::AtMost(1);
    }));
    p.drive();
    let question = Asked { prompt: "When?".into(), kind: AskedKind::Query, default: None };
    p.reply(1, PlanReply::Question { question });
    p.drive();
    p.answer_with("q1", Answer::respond(json!("now")));
    p.drive();
    p.reply(2, PlanReply::Plan { plan: plan("a") });
    p.expect(&["ask q2 plan_check"]);
    p.answer("q2", Verdict::Approve, None);
    p.expect(&["call g0.r0.a #1"]);
}

#[test]
fn words_in_place_of_a_plan_are_shown_to_a_person_again_and_again_until_there_is_one() {
    let mut p = Play::submit(agent(|a| {
        a.plan.attempts = 1;
        a.plan.on_unparseable = OnUnparseable::Ask;
    }));
    p.drive();
    for round in 1..=5 {
        p.unparseable(round);
        p.expect(&[&format!("ask q{round} question")]);
        let prompt = "Sure!\n\nNo usable plan was made (no JSON). What should be done differently?";
        assert_eq!(p.view().questions[0].prompt, prompt);
        p.answer_with(&format!("q{round}"), Answer::respond(json!("more words")));
        p.expect(&[&format!("plan g0.p{} #1", round + 1)]);
    }
    p.reply(6, PlanReply::Plan { plan: plan("a") });
    p.expect(&["call g0.r0.a #1"]);
}

#[test]
fn a_result_without_data_is_read_as_a_whole() {
    let step = |name: &str| Action::Tool {
        tool: ToolName::new("t").unwrap(),
        args: if name == "b" {
            json!({"said": "{{a.message}}", "all": "{{a}}"})
        } else {
            json!({})
        },
        binding: binding(),
    };
    let mut p = Play::planned(agent(|_| {}), plan_with("a b<a", step));
    p.drive();
    let sent = ToolResult { success: true, data: None, error: None, message: Some("sent".into()) };
    p.result("g0.r0.a", 1, sent, None);
    p.drive();
    let [Decision::Call(call)] = p.decisions.as_slice() else { panic!("not one call") };
    let all = json!({"success": true, "message": "sent"});
    assert_eq!(call.args, json!({"said": "sent", "all": all}));
}

/// How a job in Chinese ends, and what is said of it.
fn said(change: impl FnOnce(&mut Agent), steps: &str, course: impl Fn(&mut Play)) -> String {
    let mut p = Play::submit_in(agent(change), Language::Zh);
    p.drive();
    if steps.is_empty() {
        p.unparseable(1);
    } else {
        p.reply(1, PlanReply::Plan { plan: plan(steps) });
    }
    p.drive();
    course(&mut p);
    p.drive();
    match p.outcome() {
        Outcome::Completed { summary, .. } => summary,
        Outcome::Failed { message, .. } => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_said_in_chinese_is_said_in_the_words_that_were_agreed() {
    let both = |p: &mut Play| {
        for step in ["a", "b"] {
            let done = ToolResult::ok(json!(1)).with_message(format!("做完 {step}"));
            p.result(&format!("g0.r0.{step}"), 1, done, None);
        }
    };
    assert_eq!(said(|_| {}, "a b", both), "成功执行 2 个步骤：\n1. 做完 a\n2. 做完 b");
    assert_eq!(said(|_| {}, "a b<a", |p| p.no("g0.r0.a")), "步骤 a 失败: no");
    let no_plan = said(|a| a.plan.attempts = 1, "", |_| {});
    assert_eq!(no_plan, "计划执行服务暂时不可用：no JSON");
}

#[test]
fn what_is_thought_and_what_is_a_result_are_told_apart() {
    let mut p = Play::planned(agent(|_| {}), plan_with("a", |_| Action::Agent));
    p.drive();
    let text = "I look it up.".to_owned();
    let wanted = vec![tool_call("c", "read", json!({"page": 1}))];
    p.turn("g0.r0.a.n1.t1", TurnReply::Calls { text, calls: wanted });
    p.drive();
    p.ok("g0.r0.a.n1.t1.c0", json!("nine"));
    p.drive();
    p.done("g0.r0.a.n1.t2", true, "It opens at nine.");
    p.drive();
    let (mut job, mut events) = (Job::new(p.job.id().clone()), Projection::default());
    let mut heard = Vec::new();
    for (at, family, record) in &p.log {
        job.apply(*at, family, record.as_ref());
        let told = events.take(at.seq, at.time, record.as_ref().ok(), job.view().unwrap());
        heard.extend(told.into_iter().filter_map(|event| match event.happened {
            Happened::Message(said) => Some((said.stream, said.step.is_some(), said.text)),
            _ => None,
        }));
    }
    let said = |stream, of_a_step, text: &str| (stream, of_a_step, text.to_owned());
    assert_eq!(
        heard,
        [
            said(Stream::Thought, true, "I look it up."),
            said(Stream::Result, true, "It opens at nine."),
            said(Stream::Result, false, "Carried out 1 step:\n1. It opens at nine."),
        ]
    );
}
