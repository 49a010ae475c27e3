//! The facts that commands lead to.

use broker::testing::wait::soon;
use futures::StreamExt;
use proto::wire::{self, Live, LiveUpdate};
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
async fn reasoning_before_an_answer_is_no_part_of_it() {
    let mut stage = Stage::new(r#"else: { text: "<think>6 or 7?</think>\n\n7 tasks" }"#).await;
    stage.command(json!({"task": {"goal": "g", "description": TASK}})).await;
    let (_, fact) = stage.fact().await;
    assert_eq!(fact["reply"]["response"], "7 tasks", "{fact}");
    stage.end().await;
}

#[tokio::test]
async fn a_refused_request_is_recorded_with_the_providers_words() {
    let mut stage = Stage::new("rules: [{ fault: { status: 400, code: bad_tool } }]").await;
    stage.command(json!({"task": {"goal": "g", "description": TASK}})).await;
    let (_, fact) = stage.fact().await;
    let message = fact["reply"]["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("the model provider refuses the request (HTTP 400)"), "{message}");
    let words = "the provider says: bad_tool: the script asks for this error";
    assert!(message.ends_with(words), "{message}");
    stage.end().await;
}

#[tokio::test]
async fn arguments_with_a_field_twice_run_nothing_and_the_reason_is_told() {
    let script = r#"else: { calls: [{ tool: create_task, args: '{"title":"A","title":"B"}' }] }"#;
    let mut stage = Stage::new(script).await;
    stage.command(json!({"task": {"goal": "g", "description": TASK}})).await;
    let (_, fact) = stage.fact().await;
    let target = &fact["reply"]["calls"][0]["target"];
    assert_eq!(target["target"], "refused", "{fact}");
    let error = target["error"].as_str().unwrap();
    assert!(error.contains("the field \"title\" is there twice"), "{error}");
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
        - { tool: create_task, id: same, args: { title: a } }
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
    assert_eq!(fact["reasoning"], "Hm.", "the record keeps the reasoning");
    let (mut thought, mut text) = (String::new(), String::new());
    while text != response {
        let message = soon("all that is said", heard.next()).await.unwrap();
        let live: Live = wire::decode(&message.payload).unwrap();
        assert_eq!(live.step.unwrap().as_str(), "step1");
        match live.said {
            LiveUpdate::Text(more) => text.push_str(&more),
            LiveUpdate::Thought(more) => thought.push_str(&more),
            LiveUpdate::Taken { .. } | LiveUpdate::Tool { .. } => {}
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
    // Room for the task and one exchange of about 330 tokens, but not for two.
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

/// Reads the token count of the instructions, the tools and the task from the error of a turn that
/// has no room for them.
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

/// A loop of three long turns with room for one; the summary covers everything before the last.
#[tokio::test]
async fn what_there_is_no_room_for_is_summarised_once_and_stays_so() {
    for (language, framed, shown) in [
        ("en", "summarise the beginning of an assistant's work", "Summary of your first"),
        ("zh", "前面的工作写成摘要", "前 2 轮的摘要"),
    ] {
        let script = SUMMARISING.replace("FRAMED", framed).replace("SHOWN", shown);
        let mut stage = Stage::new(&script).await;
        let window = json!({"keep": 2});
        let usual = json!({"window": window, "summarise": true, "language": language});
        let with = |fields: Value| {
            let mut all = usual.clone();
            all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            all
        };
        stage.command(with(json!({"task": tidy_up()}))).await;
        let mut after = stage.fact().await.0;
        let replies =
            |n: u32| json!([{"id": "c1", "name": "create_task", "text": format!("result {n}")}]);
        let turn = |n: u32, after: proto::id::Seq| json!({"work": format!("g0.s1.r1.t{n}"), "turn": n, "after": after, "replies": replies(n - 1)});
        let first = after;
        for n in 2..4 {
            stage.command(with(turn(n, after))).await;
            after = stage.fact().await.0;
        }
        stage.command(with(turn(4, after))).await;
        let (_, fact) = stage.fact().await;
        let reply = &fact["reply"];
        let summary = &reply["summary"];
        assert_eq!(
            (&reply["type"], &summary["text"]),
            (&json!("summarised"), &json!("62 is done."))
        );
        assert_eq!(fact["usage"], json!({"input_tokens": 9, "output_tokens": 4}));
        assert!(summary["through"].as_u64().unwrap() > first.0, "{reply}: of two turns");

        // The same turn again, with the summary: the model sees the summary and not the summarised
        // turns.
        let mut again = turn(4, after);
        again["work"] = json!("g0.s1.r1.t4.s");
        again["summary"] = summary.clone();
        again["window"] = json!({"keep": 2});
        again["language"] = json!(language);
        stage.command(again).await;
        let (after, fact) = stage.fact().await;
        assert_eq!(fact["reply"]["text"], "with the summary", "{fact}");

        // The next turn finds the summary in the log.
        stage.command(with(turn(5, after))).await;
        let (_, fact) = stage.fact().await;
        assert_eq!(fact["reply"]["text"], "with the summary", "{fact}");
        assert_eq!(stage.server.unanswered(), 0);
        stage.end().await;
    }
}

const SUMMARISING: &str = r#"
rules:
  - when: { system: "FRAMED", last: '[\s\S]*result 1[\s\S]*result 2' }
    reply: { text: "62 is done.", usage: { input: 9, output: 4 } }
  - when: { system: "FRAMED" }
    reply: { text: "something else was to be summarised: {{ last }}" }
  - when: { any: "SHOWN[\\s\\S]*62 is done", last: 'result [34]' }
    reply: { text: "with the summary", calls: [ { tool: create_task, id: c1, args: { title: "A" } } ] }
else:
  calls: [ { tool: create_task, id: c1, args: { title: "A" } } ]
"#;

#[tokio::test]
async fn what_cannot_be_summarised_is_left_out_and_no_turn_fails_for_it() {
    for (reply, spent) in [
        // Unusable: the turn runs with the part that fits, and both model calls are counted.
        (r#"reply: { text: "62 is", finish: length, usage: { input: 9, output: 4 } }"#, 9),
        (r#"reply: { text: "  ", thought: "hm", usage: { input: 9, output: 4 } }"#, 0),
        // No reply, with a permanent and with a transient error.
        ("fault: { status: 403 }", 0),
        ("fault: { status: 529 }", 0),
    ] {
        let script = format!(
            "rules:\n  - when: {{ system: \"summarise the beginning\" }}\n    {reply}\n  \
             - when: {{ any: 'earlier exchanges are left out' }}\n    \
             reply: {{ text: \"I was shown less.\", usage: {{ input: 1, output: 1 }} }}\n\
             else:\n  calls: [ {{ tool: create_task, id: c1, args: {{ title: \"A\" }} }} ]\n"
        );
        let mut stage = Stage::new(&script).await;
        let window = json!({"keep": 1});
        stage.command(json!({"task": tidy_up(), "window": window, "summarise": true})).await;
        for turn in 2..4 {
            let (after, _) = stage.fact().await;
            let replies = json!([{"id": "c1", "name": "create_task", "text": "ok"}]);
            stage
                .command(json!({
                    "work": format!("g0.s1.r1.t{turn}"), "turn": turn, "after": after,
                    "replies": replies, "window": window, "summarise": true
                }))
                .await;
        }
        let (_, fact) = stage.fact().await;
        assert_eq!(fact["reply"]["type"], "done", "{reply}: {fact}");
        assert_eq!(fact["usage"]["input_tokens"], spent + 1, "{reply}: {fact}");
        stage.end().await;
    }
}

/// The model shortens a long result, which it sees whole.
#[tokio::test]
async fn a_long_result_is_put_in_short_from_all_of_it() {
    let script = r#"
rules:
  - when: { system: 'summarise the result of a tool', last: 'row 1;[\s\S]*row 500;' }
    reply: { text: "500 rows.", usage: { input: 9, output: 4 } }
  - when: { system: 'summarise the result of a tool' }
    reply: { text: "not all of it was shown" }
  - when: { last: 'Summary of the result, which has \d+ characters\]\n500 rows.' }
    reply: { text: "There are 500." }
  - when: { turn: 1 }
    reply: { calls: [ { tool: create_task, id: c1, args: { title: "A" } } ] }
"#;
    let mut stage = Stage::new(script).await;
    stage.command(json!({"task": tidy_up(), "summarise": true})).await;
    let (after, _) = stage.fact().await;
    let rows: String = (1..=500).map(|n| format!("row {n};")).collect();
    stage.called("g0.s1.r1.t1.c0", json!({"success": true, "data": rows})).await;
    let ends = format!("{} … {}", &rows[..100], &rows[rows.len() - 100..]);
    let reply = json!({
        "id": "c1", "name": "create_task", "text": ends,
        "whole": {"work": "g0.s1.r1.t1.c0", "attempt": 1}
    });
    let turn = json!({"work": "g0.s1.r1.t2", "turn": 2, "after": after});
    let with = |fields: Value| {
        let mut all = turn.clone();
        all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        all
    };
    stage.command(with(json!({"summarise": true, "replies": [reply]}))).await;
    let (_, fact) = stage.fact().await;
    assert_eq!(fact["reply"]["type"], "summarised", "{fact}");
    assert_eq!(fact["reply"]["results"][0]["id"], "c1", "{fact}");
    assert_eq!(fact["usage"], json!({"input_tokens": 9, "output_tokens": 4}));

    let text = fact["reply"]["results"][0]["text"].clone();
    let reply = json!({"id": "c1", "name": "create_task", "text": text});
    stage.command(with(json!({"work": "g0.s1.r1.t2.s", "replies": [reply]}))).await;
    let (_, fact) = stage.fact().await;
    assert_eq!(fact["reply"]["response"], "There are 500.", "{fact}");
    assert_eq!((stage.server.requests(), stage.server.unanswered()), (3, 0));
    stage.end().await;
}
