//! The facts that commands lead to.

use broker::testing::wait::soon;
use futures::StreamExt;
use proto::wire::{self, Live, LiveUpdate};
use serde_json::json;

use crate::stage::Stage;

#[tokio::test]
async fn a_goal_becomes_a_plan_in_the_log() {
    let script = r#"
rules:
  - when: { role: user, system: '\[@create_task\]: does create_task', last: '用户指令' }
    reply:
      raw: true
      text: |-
        好的：
        ```json
        {"title": "标记并创建", "steps": [
          {"id": "step1", "description": "创建任务", "action": "create_task", "params": {"title": "发邮件"}},
          {"id": "step2", "description": "标记完成", "action": "complete_task", "params": {"id": "{{step1.id}}"}},
          {"id": "step3", "description": "总结", "dependsOn": ["step2"]},
        ]}
        ```
      usage: { input: 120, output: 34 }
"#;
    let mut stage = Stage::new(script).await;
    stage.command(json!({"language": "zh", "goal": "创建发邮件任务，标记完成"})).await;
    let binding = json!({"pool": "p", "effect": "idempotent", "version": "7"});
    assert_eq!(
        stage.fact().await,
        json!({
            "work": "g0.p1", "attempt": 1,
            "usage": {"input_tokens": 120, "output_tokens": 34},
            "reply": {"type": "plan", "plan": {"title": "标记并创建", "steps": [
                {"id": "step1", "description": "创建任务", "action": "tool", "tool": "create_task", "args": {"title": "发邮件"}, "binding": binding},
                {"id": "step2", "description": "标记完成", "depends_on": ["step1"], "action": "tool", "tool": "complete_task", "args": {"id": "{{step1.id}}"}, "binding": binding},
                {"id": "step3", "description": "总结", "depends_on": ["step2"], "action": "agent"},
            ]}},
        })
    );
    stage.end().await;
}

#[tokio::test]
async fn reasoning_before_a_plan_is_no_part_of_it() {
    let script = r#"
rules:
  - when: { last: with a tag }
    reply: { raw: true, text: '<think>perhaps {"steps":["no"]}</think>{"title":"T","steps":["do"]}' }
else:
  raw: true
  text: "perhaps [this]\n</think>\n{\"title\":\"T\",\"steps\":[\"do\"]}"
"#;
    let mut stage = Stage::new(script).await;
    for goal in ["with a tag", "with half a tag"] {
        stage.command(json!({"goal": goal})).await;
        let fact = stage.fact().await;
        assert_eq!(fact["reply"]["plan"]["steps"][0]["description"], "do", "{fact}");
        let reasoning = fact["reasoning"].as_str().unwrap();
        assert!(reasoning.starts_with("perhaps"), "the record keeps it apart: {fact}");
    }
    stage.end().await;
}

#[tokio::test]
async fn a_question_is_asked_answered_and_followed_by_a_plan() {
    let script = r#"
rules:
  - when: { turn: 1, offers: ask_user }
    reply:
      calls:
        - tool: ask_user
          args: { mode: select, prompt: "Which one?", options: [a, b] }
  - when: { role: tool, tool_result: { tool: ask_user, content: '^(?<which>[ab])$' } }
    reply:
      json: { title: "Take {{ captures.which }}", steps: ["take {{ captures.which }}"] }
"#;
    let mut stage = Stage::new(script).await;
    stage.command(json!({})).await;
    assert_eq!(
        stage.fact().await["reply"],
        json!({"type": "question", "question": {
            "prompt": "Which one?", "mode": "select",
            "options": [{"value": "a"}, {"value": "b"}], "multiple": false,
        }})
    );
    let dialogue = json!([{"type": "asked", "question": "Which one?", "answer": "b"}]);
    stage.command(json!({"work": "g0.p2", "dialogue": dialogue})).await;
    let fact = stage.fact().await;
    assert_eq!(
        (&fact["work"], &fact["reply"]["plan"]["title"]),
        (&json!("g0.p2"), &json!("Take b"))
    );
    stage.end().await;
}

#[tokio::test]
async fn a_reply_that_is_no_plan_is_told_and_the_model_is_asked_once() {
    let script = r#"
rules:
  - when: { last: 'there is no tool "send_fax"' }
    reply:
      raw: true
      json: { title: T, steps: [{ id: a, description: x, tool: create_task, args: { title: fax } }] }
else:
  json: { title: T, steps: [{ id: a, description: x, tool: send_fax, args: {} }] }
"#;
    let mut stage = Stage::new(script).await;
    stage.command(json!({})).await;
    let reply = stage.fact().await["reply"].clone();
    assert_eq!(reply["type"], "unparseable");
    assert_eq!(
        reply["error"],
        "step a: there is no tool \"send_fax\"; the tools are: complete_task, create_task"
    );
    assert_eq!(stage.server.requests(), 1);
    let rejected = json!({"type": "rejected", "reply": reply["text"], "error": reply["error"]});
    stage.command(json!({"attempt": 2, "dialogue": [rejected]})).await;
    let fact = stage.fact().await;
    assert_eq!((&fact["attempt"], &fact["reply"]["type"]), (&json!(2), &json!("plan")));
    assert_eq!(stage.server.requests(), 2);
    stage.end().await;
}

#[tokio::test]
async fn what_a_provider_does_wrong_is_a_failure_of_its_kind() {
    let script = r#"
rules:
  - when: { last: busy }
    fault: { status: 429, retry_after: 7 }
  - when: { last: key }
    fault: { status: 401 }
  - when: { last: cut }
    reply: { text: "{\"title\": \"T\", \"steps\": [\"a\"]}", stream: { chunk: 4 } }
    fault: { cut: true }
  - when: { last: filter }
    reply: { text: "I", finish: content_filter }
  - when: { last: silent }
    reply: { text: "" }
  - when: { last: length }
    reply: { json: { title: T, steps: [a] }, finish: length }
"#;
    let mut stage = Stage::new(script).await;
    for (n, (goal, kind, transient, retry_after)) in [
        ("busy", "failed", json!(true), json!(7000)),
        ("key", "failed", json!(false), json!(null)),
        ("cut", "failed", json!(true), json!(null)),
        ("filter", "failed", json!(false), json!(null)),
        ("silent", "failed", json!(true), json!(null)),
        ("length", "unparseable", json!(null), json!(null)),
    ]
    .into_iter()
    .enumerate()
    {
        stage.command(json!({"goal": goal, "attempt": n + 1})).await;
        let fact = stage.fact().await;
        assert_eq!(fact["reply"]["type"], kind, "{goal}: {fact}");
        assert_eq!(fact["reply"]["error"]["transient"], transient, "{goal}: {fact}");
        assert_eq!(fact["reply"]["error"]["retry_after_ms"], retry_after, "{goal}: {fact}");
    }
    stage.end().await;
}

#[tokio::test]
async fn who_watches_sees_the_plan_come() {
    let script = r#"
else:
  thought: "Hm."
  json: { title: T, steps: [a] }
  stream: { chunk: 5, delay_ms: 1 }
"#;
    let mut stage = Stage::new(script).await;
    let mut heard = stage.listen().await;
    stage.command(json!({})).await;
    assert_eq!(stage.fact().await["reply"]["type"], "plan");
    let (mut thought, mut text) = (String::new(), String::new());
    while text != r#"{"title":"T","steps":["a"]}"# {
        let message = soon("all that is said", heard.next()).await.unwrap();
        let live: Live = wire::decode(&message.payload).unwrap();
        match live.said {
            LiveUpdate::Text(more) => text.push_str(&more),
            LiveUpdate::Thought(more) => thought.push_str(&more),
            LiveUpdate::Taken { .. } | LiveUpdate::Tool { .. } => {}
        }
    }
    assert_eq!(thought, "Hm.");
    stage.end().await;
}
