//! Commands, and the conversations models are shown.

use std::fmt::Write;

use rstest::rstest;

use super::*;
use crate::testing;

fn plan() -> Value {
    json!({"title": "Tidy up", "steps": [
        {"id": "step1", "title": "Create", "description": "Create task A", "action": "tool",
         "tool": "create_task", "args": {"title": "A"},
         "binding": {"pool": "p", "effect": "idempotent", "version": "7"}},
        {"id": "step2", "description": "Write about {{it}}", "depends_on": ["step1"], "action": "agent"},
    ]})
}

fn conversation_of(work: Value) -> String {
    let (work, specs) = (testing::work(work), testing::tools());
    let tools = Toolbox::new(&specs, work.model.tools.as_deref());
    let request = request(&work, &tools);
    let mut out = String::new();
    for message in &request.messages {
        let _ = match message {
            Message::System { text } => writeln!(out, "=== system\n{text}"),
            Message::User { text } => writeln!(out, "=== user\n{text}"),
            Message::Assistant { text, calls } => {
                let calls: Vec<_> =
                    calls.iter().map(|c| format!("{}: {}({})", c.id, c.name, c.args)).collect();
                writeln!(out, "=== assistant\n{text}{}", calls.join("\n"))
            }
            Message::Tool { call, name, text } => writeln!(out, "=== tool {call} {name}\n{text}"),
        };
    }
    let offers: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    let params = &request.params;
    let _ = writeln!(
        out,
        "=== offers [{}], json {}, model {:?}, temperature {:?}",
        offers.join(", "),
        params.json,
        params.model,
        params.temperature
    );
    out
}

/// Everything but the system message.
fn rest(conversation: &str) -> &str {
    conversation.split_once("=== user\n").unwrap().1
}

#[rstest]
#[case("en", "Complete task 62, then {{write}} a summary")]
#[case("zh", "先标记任务 ID:62 完成，创建发邮件任务，标记完成，创建等待反馈任务")]
fn the_first_request(#[case] language: &str, #[case] goal: &str) {
    let work = json!({"language": language, "goal": goal, "system": "Frame.", "model": "m", "temperature": 0.1});
    insta::assert_snapshot!(format!("first_{language}"), conversation_of(work));
}

#[rstest]
#[case("en")]
#[case("zh")]
fn all_that_can_be_said_after_it(#[case] language: &str) {
    let dialogue = json!([
        {"type": "asked", "question": "When?", "answer": "tomorrow"},
        {"type": "rejected", "reply": "Sure thing", "error": "there is no JSON object in the reply"},
        {"type": "rejected", "reply": " ", "error": "nothing was said"},
        {"type": "revised", "plan": plan(), "words": "{{also}} tell Li"},
        {"type": "progressed", "plan": plan(), "steps": [
            {"id": "step1", "state": "completed", "response": "{\"id\":7}"},
            {"id": "step2", "state": "failed", "response": "no network"},
        ]},
    ]);
    let work = json!({"language": language, "dialogue": dialogue});
    insta::assert_snapshot!(format!("dialogue_{language}"), rest(&conversation_of(work)));
}

#[rstest]
#[case("en")]
#[case("zh")]
fn when_no_question_may_follow_a_plan_is_demanded(#[case] language: &str) {
    let dialogue = json!([
        {"type": "asked", "question": "When?", "answer": "tomorrow"},
        {"type": "asked", "question": "Where?", "answer": "here"},
    ]);
    let work = json!({"language": language, "may_ask": false, "tools": [], "dialogue": dialogue});
    insta::assert_snapshot!(format!("forced_{language}"), conversation_of(work));
}

#[test]
fn what_completed_is_known_from_all_plans_that_were_begun() {
    let progressed = |steps: Value| json!({"type": "progressed", "plan": plan(), "steps": steps});
    let dialogue = json!([
        progressed(json!([{"id": "a", "state": "completed", "response": ""}])),
        progressed(json!([
            {"id": "b", "state": "completed", "response": ""},
            {"id": "c", "state": "failed", "response": ""},
            {"id": "d", "state": "skipped", "response": ""},
        ])),
    ]);
    let done = completed(&testing::work(json!({"dialogue": dialogue})));
    assert_eq!(done.iter().map(StepId::as_str).collect::<Vec<_>>(), ["a", "b"]);
}
