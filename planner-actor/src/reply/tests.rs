//! What models say when they are asked for a plan, and what it counts as.

use model::{ErrorKind, Phase};
use proto::{message::Usage, tool::ToolSpec};
use rstest::rstest;
use runtime::{
    arguments::{self, Placeholders},
    schema::Schemas,
};
use serde_json::{Value, json};

use super::*;
use crate::testing;

const PLAN: &str = r#"{"title":"T","steps":[{"description":"do"}]}"#;

fn understood(text: &str, calls: &[(&str, Value)], stop: StopReason, work: Value) -> PlanReply {
    let calls = calls.iter().enumerate().map(|(n, (name, args))| ModelCall {
        id: format!("c{n}"),
        name: (*name).to_owned(),
        args: args.clone(),
    });
    let reply = Reply {
        text: text.to_owned(),
        thought: String::new(),
        calls: calls.collect(),
        usage: Usage::default(),
        stop,
        model: "m".to_owned(),
    };
    let (work, specs, schemas) = (testing::work(work), testing::tools(), Schemas::new());
    let tools = Toolbox::new(&specs, work.model.tools.as_deref());
    let check =
        |tool: &ToolSpec, args: &Value| arguments::check(&schemas, tool, args, Placeholders::Open);
    understand(&reply, &work, &tools, &check)
}

fn line(reply: &PlanReply) -> String {
    match reply {
        PlanReply::Plan { plan } => format!("plan {}: {}", plan.title, plan.steps.len()),
        PlanReply::Question { question } => format!("ask {}", question.prompt),
        PlanReply::Unparseable { text, error } => format!("no: {error} ← {text}"),
        PlanReply::Failed { error } => format!(
            "failed transient={} after={:?}: {}",
            error.transient, error.retry_after_ms, error.message
        ),
    }
}

fn ask(prompt: &str) -> (&'static str, Value) {
    ("ask_user", json!({"mode": "query", "prompt": prompt}))
}

#[rstest]
#[case::plan(PLAN, &[], "plan T: 1")]
#[case::question("", &[ask("When?")], "ask When?")]
#[case::question_beside_words("I wonder", &[ask("When?")], "ask When?")]
#[case::question_beside_a_plan(PLAN, &[ask("When?")], "ask When?")]
#[case::empty_plan(r#"{"title":"Nothing to do","steps":[]}"#, &[], "plan Nothing to do: 0")]
#[case::words("First I will look around.", &[],
    "no: there is no JSON object in the reply; reply with the plan as one JSON object ← First I will look around.")]
#[case::question_in_words("When?", &[],
    "no: there is no JSON object in the reply; reply with the plan as one JSON object ← When?")]
#[case::two_questions("", &[ask("When?"), ask("Where?")],
    "no: only one question can be asked at a time; use a form to ask for several things ← ask_user({\"mode\":\"query\",\"prompt\":\"When?\"})\nask_user({\"mode\":\"query\",\"prompt\":\"Where?\"})")]
#[case::unanswerable_question("", &[("ask_user", json!({"mode": "form", "prompt": "?"}))],
    "no: ask_user: fields: a form needs a list of fields ← ask_user({\"mode\":\"form\",\"prompt\":\"?\"})")]
#[case::a_tool_called_at_once("", &[("create_task", json!({"title": "A"}))],
    "no: \"create_task\" cannot be called while planning; name the tool in a step of the plan ← create_task({\"title\":\"A\"})")]
#[case::malformed_and_approving(r#"{"steps":["a",],"approve":true}"#, &[],
    "no: approve: is not a field of a plan; leave it out ← {\"steps\":[\"a\",],\"approve\":true}")]
fn a_reply_counts_as(#[case] text: &str, #[case] calls: &[(&str, Value)], #[case] expected: &str) {
    assert_eq!(line(&understood(text, calls, StopReason::End, json!({}))), expected);
}

#[test]
fn a_question_beyond_the_limit_is_not_asked() {
    let reply = understood("", &[ask("When?")], StopReason::ToolCalls, json!({"may_ask": false}));
    assert!(line(&reply).starts_with("no: no more questions can be asked; reply with the plan"));
}

#[test]
fn a_reply_that_was_cut_by_length_is_never_a_plan() {
    for text in [PLAN, r#"{"title":"T","steps":[{"description":"do"}"#] {
        let reply = understood(text, &[], StopReason::Length, json!({}));
        assert!(line(&reply).starts_with("no: the reply was cut"), "{reply:?}");
    }
}

#[test]
fn an_unusable_reply_is_kept_with_both_ends() {
    let long = format!("{}{}{}", "头".repeat(1500), "x".repeat(5000), "尾".repeat(1500));
    let PlanReply::Unparseable { text, .. } = understood(&long, &[], StopReason::End, json!({}))
    else {
        panic!()
    };
    assert!(text.starts_with(&"头".repeat(1000)) && text.ends_with(&"尾".repeat(1000)));
    assert!(text.contains("6000 characters cut"), "{text}");
}

#[test]
fn a_model_that_gave_no_reply_is_a_failure_with_its_kind() {
    assert_eq!(
        line(&failed(&ModelError::timeout(Phase::FirstToken))),
        "failed transient=true after=None: the model did not begin to answer in time"
    );
    assert_eq!(
        line(&failed(&ModelError::new(ErrorKind::Refused, "the model refused"))),
        "failed transient=false after=None: the model refused"
    );
}
