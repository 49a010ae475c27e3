//! Requirements of the designs that the presets implement: fixed texts, the form of answers, and
//! the input of later steps. docs/internals/requirements.md lists the requirements.

use agents::catalogue::Catalogue;
use jiff::Timestamp;
use proto::{
    agent::{Agent, OnFailure, OnUnparseable, OnUnsuccessful},
    decision::{Decision, PlanTalk},
    diff::JobDiff,
    event::{Happened, Stream},
    fact::{Asked, AskedKind, CallTarget, PlanReply, TurnCall, TurnReply},
    id::{AgentName, ToolName},
    interaction::{Answer, Choice, Field, Input, Verdict},
    job::Outcome,
    lang::Language,
    plan::Action,
    policy::AskLimit,
    progress,
    step::StepState,
    tool::ToolResult,
};
use rstest::rstest;
use serde_json::{Value, json};

use super::play::{Play, agent, binding, calls, plan, plan_with, tool_call};
use crate::Job;
use crate::events::Projection;

fn reported(success: bool, response: &str) -> TurnReply {
    let attachments = vec!["out/a.md".to_owned()];
    TurnReply::Done {
        success,
        response: response.into(),
        attachments,
        value: serde_json::Value::Null,
    }
}

/// A policy lets a step complete although its agent reports no success: it is not run again,
/// dependent steps continue, and the dependants, the planner and all watchers are told.
#[test]
fn a_step_may_complete_without_success() {
    let mut p = Play::planned(
        agent(|a| {
            a.step.on_unsuccessful = OnUnsuccessful::Complete;
            a.step.retry.max_attempts = 3;
            a.step.on_failure = OnFailure::FailRun;
        }),
        plan_with("a b<a", |_| Action::Agent),
    );
    p.expect(&["turn g0.r0.a.n1.t1 #1"]);
    let mut watching = Projection::default();
    watching.take(p.job.seq(), Timestamp::UNIX_EPOCH, None, &p.job);
    p.turn("g0.r0.a.n1.t1", reported(false, "half of it"));
    let after = p.view();
    let events = watching.take(p.job.seq(), Timestamp::UNIX_EPOCH, None, &p.job);
    let told = events.iter().any(|event| match &event.happened {
        Happened::Step(step) => step.unsuccessful && step.attachments == ["out/a.md"],
        _ => false,
    });
    assert!(told, "{events:?}");
    assert_eq!(p.states(), "a:completed b:ready");
    let step = &after.plan.as_ref().unwrap().steps[0];
    assert_eq!((step.success, step.response.as_deref()), (Some(false), Some("half of it")));
    assert_eq!(step.attachments, ["out/a.md"]);

    p.expect(&["turn g0.r0.b.n1.t1 #1"]);
    let Some(Decision::Turn(turn)) = p.decisions.last() else { panic!("no turn") };
    let needed = &turn.task.as_ref().unwrap().dependencies[0];
    assert!(needed.unsuccessful && needed.attachments == ["out/a.md"], "{needed:?}");

    p.turn("g0.r0.b.n1.t1", reported(true, "the rest"));
    p.expect(&["finish completed"]);
    let Outcome::Completed { summary, results, .. } = p.outcome() else { panic!("not completed") };
    assert_eq!(
        summary,
        "Carried out 1 step:\n1. do b: the rest\n\
         Completed 1 step without success:\n1. do a: half of it"
    );
    assert_eq!(results, json!({"a": "half of it", "b": "the rest"}));
}

/// Without that policy, a report without success is a failure.
#[test]
fn what_is_reported_without_success_has_failed_unless_the_policy_says_otherwise() {
    let mut p = Play::planned(agent(|_| {}), plan_with("a", |_| Action::Agent));
    p.drive();
    p.turn("g0.r0.a.n1.t1", reported(false, "half of it"));
    p.expect(&["finish failed"]);
    assert_eq!(p.view().plan.unwrap().steps[0].success, Some(false));
}

#[test]
fn a_point_before_and_one_after_differ_where_a_step_completed_otherwise() {
    let ends = |success| {
        let complete = agent(|a| a.step.on_unsuccessful = OnUnsuccessful::Complete);
        let mut p = Play::planned(complete, plan_with("a", |_| Action::Agent));
        p.drive();
        p.turn("g0.r0.a.n1.t1", reported(success, "said"));
        p.view()
    };
    let diff = JobDiff::between(&ends(false), &ends(true));
    let success = diff.steps[0].success.clone().unwrap();
    assert_eq!((success.from, success.to), (Some(false), Some(true)));
}

/// The planner of a job that is replanned after each step is told as well.
#[test]
fn a_planner_hears_of_a_step_without_success() {
    let presets = Catalogue::presets();
    let manus = presets.get(&AgentName::new("manus").unwrap()).unwrap().as_ref().unwrap();
    let mut p = Play::planned(Agent::clone(manus), plan_with("a b", |_| Action::Agent));
    p.drive();
    p.turn("g0.r0.a.n1.t1", reported(false, "half of it"));
    p.drive();
    let Some(Decision::Plan(work)) = p.decisions.last() else { panic!("{:?}", p.decisions) };
    let Some(PlanTalk::Progressed { steps, .. }) = work.dialogue.last() else { panic!("no talk") };
    assert!(steps[0].unsuccessful && steps[0].state == StepState::Completed, "{steps:?}");
}

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

/// The planner and a step receive an answer in the same form: the value of an option and not its
/// label, a list of values, or the values of a form as JSON.
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
    let told = Some(kind.clone()).filter(|kind| *kind != AskedKind::Query);
    let question = Asked { prompt: "Which?".into(), kind, default: None };
    let mut p = Play::submit(agent(|_| {}));
    p.drive();
    p.reply(1, PlanReply::Question { question: question.clone() });
    p.drive();
    p.answer_with("q1", Answer::respond(value.clone()));
    p.drive();
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    let heard = PlanTalk::Asked { question: "Which?".into(), kind: told, answer: expected.into() };
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
        let prompt = "Sure!\n\nNo usable plan was made. What should be done differently?";
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

/// Returns the final text of a job in Chinese.
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
    assert_eq!(said(|_| {}, "a b", both), "成功执行 2 个步骤：\n1. do a：做完 a\n2. do b：做完 b");
    assert_eq!(said(|_| {}, "a b<a", |p| p.no("g0.r0.a")), "步骤 a 失败: no");
    let no_plan = said(|a| a.plan.attempts = 1, "", |_| {});
    assert_eq!(no_plan, "计划执行服务暂时不可用：no JSON");
}

/// The agreed prompt of a planner that needs more information but asks nothing specific.
#[test]
fn a_question_without_words_is_asked_in_the_words_that_were_agreed() {
    let mut p = Play::submit_in(agent(|a| a.ask.prefix = true), Language::Zh);
    p.drive();
    let question =
        Asked { prompt: "请补充必要信息".into(), kind: AskedKind::Query, default: None };
    p.reply(1, PlanReply::Question { question });
    p.drive();
    assert_eq!(p.view().questions[0].prompt, "请确认：请补充必要信息");
}

/// An invalid plan is returned to its planner in the language of the job.
#[test]
fn what_is_wrong_with_a_plan_is_told_in_the_language_of_the_job() {
    let mut p = Play::submit_in(agent(|_| {}), Language::Zh);
    p.drive();
    p.reply(1, PlanReply::Plan { plan: plan("a<b b<a") });
    p.drive();
    let Some(Decision::Plan(work)) = p.decisions.last() else { panic!("{:?}", p.decisions) };
    let Some(PlanTalk::Rejected { error, .. }) = work.dialogue.last() else { panic!("no talk") };
    assert_eq!(error, "计划步骤存在循环依赖：a → b → a");
}

/// A failed job names the step at which it failed, in addition to that step's error.
#[test]
fn a_job_says_at_which_step_it_failed() {
    let failed = |language| {
        let mut p = Play::submit_in(agent(|_| {}), language);
        p.drive();
        p.reply(1, PlanReply::Plan { plan: plan("a b<a") });
        p.drive();
        assert_eq!(progress::failed(&p.view()), None);
        p.ok("g0.r0.a", json!(1));
        p.drive();
        p.no("g0.r0.b");
        p.drive();
        progress::failed(&p.view()).unwrap()
    };
    assert_eq!(failed(Language::Zh), "执行失败于步骤 2");
    assert_eq!(failed(Language::En), "execution failed at step 2");
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
        let told = events.take(at.seq, at.time, record.as_ref().ok(), &job);
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
            said(Stream::Result, false, "Carried out 1 step:\n1. do a: It opens at nine."),
        ]
    );
}
