//! Model replies to a planning request, and their interpretation.

#![expect(clippy::needless_pass_by_value, reason = "JSON literals read better unborrowed")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the one reply it is about")]

mod language;

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
        opaque: None,
        answered: None,
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
    understand(&reply, &work, &tools, &check).reply
}

fn line(reply: &PlanReply) -> String {
    match reply {
        PlanReply::Plan { plan } => format!("plan {}: {}", plan.title, plan.steps.len()),
        PlanReply::Question { question } => format!("ask {}", question.prompt),
        PlanReply::Simple => "simple".to_owned(),
        PlanReply::Noted { note } => format!("{note:?}"),
        PlanReply::Finished { response, language: _ } => format!("finished {response}"),
        PlanReply::Unparseable { text, error, action: true } => {
            format!("no action: {error} ← {text}")
        }
        PlanReply::Unparseable { text, error, action: false } => format!("no: {error} ← {text}"),
        PlanReply::Failed { error } => format!(
            "failed transient={} after={:?}: {}",
            error.is_transient(),
            error.retry_after_ms,
            error.message
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
        line(&failed(&ModelError::timeout(Phase::FirstToken), Language::En)),
        "failed transient=true after=None: the model did not start its reply in time"
    );
    assert_eq!(
        line(&failed(&ModelError::new(ErrorKind::Refused, "the model refused"), Language::En)),
        "failed transient=false after=None: the model refused"
    );
}

fn understood_all(text: &str, calls: &[(&str, Value)], work: Value) -> Understood {
    let calls = calls.iter().enumerate().map(|(n, (name, args))| ModelCall {
        id: format!("c{n}"),
        name: (*name).to_owned(),
        args: args.clone(),
    });
    let reply = Reply {
        opaque: None,
        answered: None,
        text: text.to_owned(),
        thought: String::new(),
        calls: calls.collect(),
        usage: Usage::default(),
        stop: StopReason::End,
        model: "m".to_owned(),
    };
    let (work, specs, schemas) = (testing::work(work), testing::tools(), Schemas::new());
    let tools = Toolbox::new(&specs, work.model.tools.as_deref());
    let check =
        |tool: &ToolSpec, args: &Value| arguments::check(&schemas, tool, args, Placeholders::Open);
    understand(&reply, &work, &tools, &check)
}

fn intent(understood: &Understood) -> String {
    let items = understood.outline.iter().map(|i| format!("{} {}", i.title, i.status.as_str()));
    let reply = match &understood.reply {
        PlanReply::Plan { plan } => {
            let steps = plan.steps.iter().map(|s| format!("{}: {}", s.id, s.description));
            steps.collect::<Vec<_>>().join("; ")
        }
        other => line(other),
    };
    format!("{reply} [{}]", items.collect::<Vec<_>>().join(", "))
}

const ACT: &str = r#"{"status":"continue","plan":["add it","tell Li"],"next_action":{"tool":"create_task","input":"buy milk"},"response":null}"#;

#[rstest]
#[case::an_action_is_a_plan_of_one_step(
    ACT,
    "step1: create_task {\"title\":\"buy milk\"} [add it in_progress, tell Li pending]"
)]
#[case::arguments_as_json_in_a_text(
    r#"{"status":"continue","next_action":{"tool":"@complete_task","input":"{\"id\": 62}"}}"#,
    "step1: complete_task {\"id\":62} []"
)]
#[case::words_in_braces(
    r#"{"status":"continue","next_action":{"tool":"create_task","input":"{x} and {y}"}}"#,
    "step1: create_task {\"title\":\"{x} and {y}\"} []"
)]
#[case::arguments_as_json_that_is_cut(
    r#"{"status":"continue","next_action":{"tool":"create_task","input":"{\"title\": \"milk\""}}"#,
    "no action: next_action.input: must be an object with the arguments of create_task: {title: string (a few words), tags?: any[]} ← {\"status\":\"continue\",\"next_action\":{\"tool\":\"create_task\",\"input\":\"{\\\"title\\\": \\\"milk\\\"\"}} []"
)]
#[case::words_for_a_number(
    r#"{"status":"continue","next_action":{"tool":"complete_task","input":"62"}}"#,
    "no action: next_action.input: must be an object with the arguments of complete_task: {id: integer} ← {\"status\":\"continue\",\"next_action\":{\"tool\":\"complete_task\",\"input\":\"62\"}} []"
)]
#[case::a_question(
    r#"{"status":"continue","plan":["ask"],"next_action":{"tool":"ask_user","input":"When?"}}"#,
    "ask When? [ask in_progress]"
)]
#[case::the_end(
    r#"Sure: {"status":"done","plan":[],"next_action":null,"response":"All done."}"#,
    "finished All done. []"
)]
#[case::malformed(r#"{status: 'done', response: "x",}"#, "finished x []")]
#[case::a_plan_where_a_decision_is_wanted(
    PLAN,
    "no: the JSON in the reply is not what is asked for: it has no `status` ← {\"title\":\"T\",\"steps\":[{\"description\":\"do\"}]} []"
)]
#[case::a_tool_that_is_none(
    r#"{"status":"continue","next_action":{"tool":"creat_task","input":"x"}}"#,
    "no action: next_action.tool: there is no tool \"creat_task\"; did you mean create_task? the tools are: complete_task, create_task ← {\"status\":\"continue\",\"next_action\":{\"tool\":\"creat_task\",\"input\":\"x\"}} []"
)]
fn a_decision_becomes(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(intent(&understood_all(text, &[], json!({"protocol": "decision"}))), expected);
}

/// The first of three steps has completed; the others never began.
#[test]
fn an_update_keeps_the_title_and_the_ids_of_steps_that_never_began() {
    let step = |id: &str| json!({"id": id, "description": id, "action": "agent"});
    let plan = json!({"title": "Trip", "steps": [step("step1"), step("step2"), step("step3")]});
    let ended = json!([{"id": "step1", "state": "completed", "response": "r"}]);
    let dialogue = json!([{"type": "progressed", "plan": plan, "steps": ended}]);
    let update = r#"{"steps":["go on","come back"]}"#;
    let reply = understood(update, &[], StopReason::End, json!({"dialogue": dialogue}));
    let PlanReply::Plan { plan } = reply else { panic!("{reply:?}") };
    let ids: Vec<_> = plan.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!((plan.title.as_str(), ids), ("Trip", vec!["step2", "step3"]));
}

fn item(id: &str, title: &str, status: &str) -> Value {
    json!({"id": id, "title": title, "status": status})
}

fn note(phase: &str, outline: Value, response: Value) -> Value {
    json!({"type": "noted", "phase": phase, "outline": outline, "response": response})
}

/// A question without words is rejected once; the second time, a person gets a fixed question.
#[rstest]
#[case::decision_en(
    "decision",
    "en",
    r#"{"status":"continue","next_action":{"tool":"ask_user","input":" "}}"#,
    "the question has no words; say what the user is to be asked",
    "please add what is needed"
)]
#[case::decision_zh(
    "decision",
    "zh",
    r#"{"status":"continue","next_action":{"tool":"ask_user","input":null}}"#,
    "问题内容为空，请写明要问用户什么",
    "请补充必要信息"
)]
#[case::phased_zh(
    "phased",
    "zh",
    r#"{"status":"ask_user","question":""}"#,
    "问题内容为空，请写明要问用户什么",
    "请补充必要信息"
)]
fn a_question_without_words_is_refused_once(
    #[case] protocol: &str,
    #[case] language: &str,
    #[case] text: &str,
    #[case] told: &str,
    #[case] asked: &str,
) {
    let planned = note("planned", json!([item("1", "look", "pending")]), json!(null));
    let rejected = |error: &str| json!({"type": "rejected", "reply": text, "error": error});
    for (last, expected) in [
        (None, format!("no: {told}")),
        (Some(rejected("no JSON")), format!("no: {told}")),
        (Some(rejected(told)), format!("ask {asked}")),
    ] {
        let dialogue: Vec<Value> = [planned.clone()].into_iter().chain(last).collect();
        let work = json!({"protocol": protocol, "language": language, "dialogue": dialogue});
        let got = intent(&understood_all(text, &[], work));
        assert!(got.starts_with(&expected), "{got}");
    }
}

#[test]
fn phases_follow_from_what_was_said_and_done() {
    let two = |a, b| json!([item("1", "look", a), item("2", "note", b)]);
    let planned = || note("planned", two("pending", "pending"), json!(null));
    let acting = || note("acting", two("in_progress", "pending"), json!(null));
    let done = || note("item_done", two("done", "pending"), json!("found it"));
    let one =
        json!({"title": "T", "steps": [{"id": "step1", "description": "x", "action": "agent"}]});
    let went = |state: &str| json!({"type": "progressed", "plan": one, "steps": [{"id": "step1", "state": state, "response": "r"}]});
    let asked = || json!({"type": "asked", "question": "?", "answer": "!"});
    let act = r#"{"status":"continue","next_action":{"tool":"create_task","input":"x"}}"#;
    for (dialogue, text, expected) in [
        (
            json!([]),
            r#"{"status":"planned","plan":["look","note"]}"#,
            "PlanNote { phase: Planned, outline: [Item { id: StepId(\"1\"), title: \"look\", status: Pending, note: None }, Item { id: StepId(\"2\"), title: \"note\", status: Pending, note: None }], response: None } []",
        ),
        (json!([]), act, "no: status: must be planned"),
        (
            json!([planned()]),
            act,
            "step1: create_task {\"title\":\"x\"} [look in_progress, note pending]",
        ),
        (
            json!([planned(), acting(), went("failed")]),
            act,
            "step2: create_task {\"title\":\"x\"} [look in_progress, note pending]",
        ),
        (
            json!([planned()]),
            r#"{"status":"ask_user","question":"When?"}"#,
            "ask When? [look in_progress, note pending]",
        ),
        (
            json!([planned(), asked()]),
            r#"{"status":"replanned","plan":[]}"#,
            "no: response: is missing; nothing was reached yet that could be the answer",
        ),
        (
            json!([planned(), done()]),
            r#"{"status":"replanned","plan":[]}"#,
            "finished found it [look done, note done]",
        ),
        (
            json!([planned(), done()]),
            r#"{"status":"done","response":"all of it"}"#,
            "finished all of it [look done, note done]",
        ),
        (json!([planned(), done()]), act, "no: status: must be replanned or done"),
    ] {
        let work = json!({"protocol": "phased", "dialogue": dialogue});
        let got = intent(&understood_all(text, &[], work));
        let got = got.split(" ← ").next().unwrap_or_default().to_owned();
        assert_eq!(got, expected, "{dialogue}");
    }
}

#[test]
fn a_plan_that_is_handed_over_by_a_function_is_held_to_the_same_rules() {
    let plan = json!({"title": "T", "steps": [{"id": "a", "description": "do"}]});
    for (calls, expected) in [
        (vec![("create_plan", plan.clone())], "a: do []"),
        (vec![("update_plan", json!({"plan": plan}))], "a: do []"),
        (vec![("create_plan", json!(format!("```json\n{plan}\n```")))], "a: do []"),
        (vec![("create_plan", plan.clone()), ask("When?")], "ask When? []"),
        (
            vec![("create_plan", plan.clone()), ("create_plan", plan.clone())],
            "no: only one plan can be submitted at a time",
        ),
        (
            vec![("create_plan", json!({"steps": [], "approve": true}))],
            "no: approve: is not a field of a plan; leave it out",
        ),
    ] {
        let got = intent(&understood_all("", &calls, json!({"output": "tool"})));
        assert_eq!(got.split(" ← ").next().unwrap_or_default(), expected, "{calls:?}");
    }
    let decided = json!({"status": "done", "response": "x"});
    let work = json!({"output": "tool", "protocol": "decision"});
    assert_eq!(intent(&understood_all("", &[("decide", decided)], work)), "finished x []");
}

#[rstest]
#[case::a_tool_where_tasks_are_wanted("task_steps",
    r#"{"task":"T","steps":[{"id":"a","description":"x","tool":"create_task","args":{"title":"x"}}]}"#,
    "no: steps[0].tool: steps of this plan call no tool themselves; name it in the description as @tool")]
#[case::no_task(
    "task_steps",
    r#"{"steps":[{"id":"a","title":"t","description":"x"}]}"#,
    "no: task: must say what the plan is for"
)]
#[case::a_task_where_tools_are_wanted(
    "action_steps",
    r#"{"summary":"T","steps":[{"id":"a","description":"x"}]}"#,
    "no: steps[0].action: is missing; every step of this plan is one tool call"
)]
#[case::steps_in_words(
    "title_steps",
    r#"{"title":"T","steps":["x",{"description":"y"}],"language":"en"}"#,
    "step1: x; step2: y []"
)]
#[case::only_the_steps_anew("title_steps", r#"["x","y"]"#, "step1: x; step2: y []")]
fn a_protocol_is_held_to(#[case] protocol: &str, #[case] text: &str, #[case] expected: &str) {
    let got = intent(&understood_all(text, &[], json!({"protocol": protocol})));
    assert_eq!(got.split(" ← ").next().unwrap_or_default(), expected);
}

mod chance {
    //! Arbitrary replies never panic, and every error has a text.

    use proptest::prelude::*;
    use proto::policy::PlanProtocol;

    use super::*;

    fn looks_like_a_reply() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            Just("{"),
            Just("}"),
            Just("["),
            Just("]"),
            Just("\""),
            Just(":"),
            Just(","),
            Just("'"),
            Just("“"),
            Just("```json\n"),
            Just("\n```"),
            Just("<think>"),
            Just("//"),
            Just("\"steps\":["),
            Just("\"plan\":"),
            Just("\"title\":\"T\""),
            Just("\"status\":"),
            Just("\"continue\""),
            Just("\"done\""),
            Just("\"planned\""),
            Just("\"next_action\":{"),
            Just("\"tool\":\"create_task\""),
            Just("\"input\":"),
            Just("\"response\":\"x\""),
            Just("\"depends_on\":[\"a\"]"),
            Just("\"id\":\"a\""),
            Just("\"description\":\"x\""),
            Just("null"),
            Just("1e999"),
            Just("\\u0000"),
            Just("{{a.id}}"),
            Just("字"),
            Just(" "),
        ];
        prop_oneof![prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat()), ".{0,200}",]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]

        #[test]
        fn any_reply_is_a_plan_or_an_error_that_can_be_acted_upon(
            text in looks_like_a_reply(),
            protocol in prop::sample::select(PlanProtocol::ALL),
        ) {
            let reply = understood_all(&text, &[], json!({"protocol": protocol})).reply;
            if let PlanReply::Unparseable { error, .. } = &reply {
                prop_assert!(error.len() > 10, "{error}");
            }
        }

        #[test]
        fn a_plan_is_read_whatever_it_is_wrapped_in(
            words in prop::collection::vec("[a-z一-八][a-z{},:' 一-八]{0,12}[a-z一-八]", 1..6),
            dress in 0usize..7,
        ) {
            let steps: Vec<_> = words.iter().map(|w| json!({"description": w})).collect();
            let bare = json!({"title": "T", "steps": steps}).to_string();
            let text = match dress {
                0 => bare,
                1 => format!("```json\n{bare}\n```"),
                2 => format!("Here is what I would do:\n\n{bare}\n\nShall I?"),
                3 => format!("<think>first {{a}}, then [b]</think>\n{bare}"),
                4 => bare.replace("}]}", "},],}"),
                5 => bare.replacen('{', "{ // the plan\n", 1).replacen("\"title\"", "title", 1),
                _ => bare.strip_suffix('}').unwrap_or_default().to_owned(),
            };
            let reply = understood_all(&text, &[], json!({})).reply;
            let PlanReply::Plan { plan } = &reply else {
                return Err(TestCaseError::fail(format!("{text}\n{reply:?}")));
            };
            let read: Vec<_> = plan.steps.iter().map(|step| &step.description).collect();
            prop_assert_eq!(read, words.iter().collect::<Vec<_>>());
        }

        #[test]
        fn a_valid_plan_cut_anywhere_is_itself_or_an_error(cut in 0usize..ACT.len()) {
            let Some(text) = ACT.get(..cut) else { return Ok(()) };
            let got = understood_all(text, &[], json!({"protocol": "decision"})).reply;
            let whole = understood_all(ACT, &[], json!({"protocol": "decision"})).reply;
            prop_assert!(got == whole || matches!(got, PlanReply::Unparseable { .. }), "{got:?}");
        }
    }
}

#[rstest]
#[case::an_answer(
    r#"{"title":"T","steps":[],"message":" It is 42. "}"#,
    true,
    "finished It is 42."
)]
#[case::without_words(r#"{"title":"T","steps":[],"message":" "}"#, true, "plan T: 0")]
#[case::words_beside_steps(
    r#"{"title":"T","steps":[{"description":"do"}],"message":"Gladly"}"#,
    true,
    "plan T: 1"
)]
#[case::where_it_may_not(r#"{"title":"T","steps":[],"message":"It is 42."}"#, false, "plan T: 0")]
fn a_plan_without_steps_may_be_an_answer(
    #[case] text: &str,
    #[case] may_be_empty: bool,
    #[case] expected: &str,
) {
    let work = json!({ "may_be_empty": may_be_empty });
    assert_eq!(line(&understood(text, &[], StopReason::End, work)), expected);
}
