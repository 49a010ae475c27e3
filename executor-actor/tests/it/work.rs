//! What comes of a command.

use futures::StreamExt;
use proto::wire::{self, Live, Said};
use serde_json::{Value, json};

use crate::stage::Stage;

const TASK: &str = "Create a task and complete it";

#[tokio::test]
async fn a_step_goes_through_its_turns_by_way_of_the_log() {
    let script = r#"
rules:
  - when: { turn: 1, last: 'Create a task', offers: create_task }
    reply:
      text: "First a task."
      calls:
        - { tool: create_task, id: c1, args: { title: "A" } }
        - { tool: create_taks, id: c2, args: { title: "B" } }
      usage: { input: 10, output: 2 }
  - when: { turn: 2, tool_result: { tool: create_taks, content: 'no tool "create_taks"' } }
    reply:
      calls:
        - { tool: complete_task, id: c3, args: { id: "{{ results[0].value.data.id }}" } }
  - when: { turn: 3, any: 'First a task', tool_result: { tool: complete_task } }
    reply:
      calls:
        - { tool: finish, id: c4, args: { success: true, response: "Task {{ results[0].value.data.id }} is done." } }
"#;
    let mut stage = Stage::new(script).await;
    let task = json!({"goal": "Tidy up", "description": TASK});
    stage.command(json!({"task": task})).await;
    let binding = json!({"pool": "p", "effect": "idempotent", "version": "7"});
    let (first, fact) = stage.fact().await;
    assert_eq!(
        fact,
        json!({
            "work": "g0.s1.r1.t1", "attempt": 1,
            "usage": {"input_tokens": 10, "output_tokens": 2},
            "reply": {"type": "calls", "text": "First a task.", "calls": [
                {"id": "c1", "name": "create_task", "args": {"title": "A"}, "target": {"target": "tool", "tool": "create_task", "binding": binding}},
                {"id": "c2", "name": "create_taks", "args": {"title": "B"}, "target": {
                    "target": "refused",
                    "error": "there is no tool \"create_taks\"; did you mean create_task? the tools are: complete_task, create_task",
                }},
            ]},
        })
    );
    let refused = fact["reply"]["calls"][1]["target"]["error"].clone();
    let replies = json!([
        {"id": "c1", "name": "create_task", "text": "{\"success\":true,\"data\":{\"id\":7}}"},
        {"id": "c2", "name": "create_taks", "text": refused},
    ]);
    stage
        .command(json!({"work": "g0.s1.r1.t2", "turn": 2, "after": first, "replies": replies}))
        .await;
    let (second, fact) = stage.fact().await;
    assert_eq!(fact["reply"]["calls"][0]["args"], json!({"id": 7}), "{fact}");
    let replies = json!([{"id": "c3", "name": "complete_task", "text": "{\"success\":true}"}]);
    stage
        .command(json!({"work": "g0.s1.r1.t3", "turn": 3, "after": second, "replies": replies}))
        .await;
    let (_, fact) = stage.fact().await;
    assert_eq!(
        fact["reply"],
        json!({"type": "done", "success": true, "response": "Task 7 is done."})
    );
    assert_eq!((stage.server.requests(), stage.server.unanswered()), (3, 0));
    stage.end().await;
}

#[tokio::test]
async fn a_turn_whose_log_is_broken_fails_without_asking_the_model() {
    let mut stage = Stage::new("else: { text: hello }").await;
    stage.command(json!({"turn": 2, "after": 999})).await;
    let (_, fact) = stage.fact().await;
    assert_eq!(
        fact["reply"]["error"],
        json!({"message": "record 999 is not a turn that asked for calls", "transient": false})
    );
    assert_eq!(stage.server.requests(), 0);
    stage.end().await;
}

#[tokio::test]
async fn what_a_provider_does_wrong_is_a_failure_of_its_kind() {
    let script = r#"
rules:
  - when: { last: busy }
    fault: { status: 529, retry_after: 3 }
  - when: { last: key }
    fault: { status: 403 }
  - when: { last: cut }
    reply: { text: "Deleted everything but", stream: { chunk: 4 } }
    fault: { cut: true }
  - when: { last: twice }
    reply:
      calls:
        - { tool: create_task, id: same, args: { title: a } }
        - { tool: create_task, id: same, args: { title: b } }
  - when: { last: filter }
    reply: { text: "I", finish: content_filter }
  - when: { last: silent }
    reply: { text: "" }
  - when: { last: call too long }
    reply: { calls: [{ tool: create_task, args: { title: a } }], finish: length }
  - when: { last: text too long }
    reply: { text: "Deleted /tmp/a", finish: length }
"#;
    let mut stage = Stage::new(script).await;
    for (n, (task, transient, retry_after)) in [
        ("busy", true, json!(3000)),
        ("key", false, json!(null)),
        ("cut", true, json!(null)),
        ("twice", true, json!(null)),
        ("filter", false, json!(null)),
        ("silent", true, json!(null)),
        ("call too long", false, json!(null)),
        ("text too long", false, json!(null)),
    ]
    .into_iter()
    .enumerate()
    {
        let task = json!({"goal": "g", "description": task});
        stage.command(json!({"task": task, "attempt": n + 1})).await;
        let (_, fact) = stage.fact().await;
        assert_eq!(fact["reply"]["type"], "failed", "{task}: {fact}");
        assert_eq!(fact["reply"]["error"]["transient"], transient, "{task}: {fact}");
        assert_eq!(fact["reply"]["error"]["retry_after_ms"], retry_after, "{task}: {fact}");
    }
    stage.end().await;
}

#[tokio::test]
async fn broken_arguments_are_refused_and_never_repaired() {
    let script = r#"
else:
  calls:
    - { tool: create_task, id: c1, args: '{"title": "unclosed' }
"#;
    let mut stage = Stage::new(script).await;
    stage.command(json!({"task": {"goal": "g", "description": TASK}})).await;
    let (_, fact) = stage.fact().await;
    let call = &fact["reply"]["calls"][0];
    assert_eq!(call["target"]["target"], "refused", "{fact}");
    assert_eq!(call["args"], "{\"title\": \"unclosed");
    stage.end().await;
}

#[tokio::test]
async fn who_watches_hears_the_model_speak() {
    let script = r#"
else:
  thought: "Hm."
  text: "It is done, and it was easy."
  stream: { chunk: 5, delay_ms: 1 }
"#;
    let mut stage = Stage::new(script).await;
    let mut heard = stage.listen().await;
    stage.command(json!({"task": {"goal": "g", "description": TASK}})).await;
    let (_, fact) = stage.fact().await;
    let response = fact["reply"]["response"].as_str().unwrap().to_owned();
    assert_eq!(response, "It is done, and it was easy.");
    let (mut thought, mut text) = (String::new(), String::new());
    while text != response {
        let message = tokio::time::timeout(std::time::Duration::from_secs(20), heard.next());
        let message = message.await.expect("not all was said").unwrap();
        let live: Live = wire::decode(&message.payload).unwrap();
        assert_eq!(live.step.unwrap().as_str(), "step1");
        match live.said {
            Said::Text(more) => text.push_str(&more),
            Said::Thought(more) => thought.push_str(&more),
            Said::Taken { .. } | Said::Tool { .. } => {}
        }
    }
    assert_eq!(thought, "Hm.");
    stage.end().await;
}

#[tokio::test]
async fn a_model_is_shown_no_more_than_its_window() {
    let script = r#"
rules:
  - when: { any: 'earlier exchanges are left out' }
    reply: { text: "I was shown less." }
else:
  calls: [ { tool: create_task, id: c1, args: { title: "A" } } ]
"#;
    // Room for the task and one exchange of some 330 tokens, and not for two.
    let tokens = tokens_of_the_task().await + 500;
    for window in [json!({"keep": 1}), json!({"keep": 100, "tokens": tokens})] {
        let ends_at = 3;
        let mut stage = Stage::new(script).await;
        stage.command(json!({"task": tidy_up(), "window": window})).await;
        for turn in 2.. {
            let (after, fact) = stage.fact().await;
            if fact["reply"]["type"] == "done" {
                assert_eq!(
                    (turn - 1, &fact["reply"]["response"]),
                    (ends_at, &json!("I was shown less."))
                );
                break;
            }
            assert_eq!(
                (&fact["reply"]["type"], turn <= ends_at),
                (&json!("calls"), true),
                "{fact}"
            );
            let text = "a result that is long ".repeat(60);
            let replies = json!([{"id": "c1", "name": "create_task", "text": text}]);
            let work = format!("g0.s1.r1.t{turn}");
            let more = json!({"work": work, "turn": turn, "after": after, "replies": replies, "window": window});
            stage.command(more).await;
        }
        stage.end().await;
    }
}

fn tidy_up() -> Value {
    json!({"goal": "Tidy up", "description": TASK})
}

/// What the instructions, the tools and the task cost, as a turn says that has no room for them.
async fn tokens_of_the_task() -> u64 {
    let mut stage = Stage::new("else: { text: hello }").await;
    stage.command(json!({"task": tidy_up(), "window": {"keep": 1, "tokens": 300}})).await;
    let (_, fact) = stage.fact().await;
    stage.end().await;
    let message = fact["reply"]["error"]["message"].as_str().unwrap();
    let words = message.split_once("about ").unwrap().1;
    words.split(' ').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_task_that_no_window_can_hold_fails_without_asking_the_model() {
    let mut stage = Stage::new("else: { text: hello }").await;
    let task = json!({"goal": "Tidy up", "description": "tidy ".repeat(500)});
    stage.command(json!({"task": task, "window": {"keep": 1, "tokens": 300}})).await;
    let (_, fact) = stage.fact().await;
    let error = &fact["reply"]["error"];
    assert_eq!(error["transient"], json!(false));
    assert!(error["message"].as_str().unwrap().contains("observe.context_tokens"), "{error}");
    assert_eq!(stage.server.requests(), 0);
    stage.end().await;
}
