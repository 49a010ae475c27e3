//! Tests of `submit` with a `call`: one tool call as a job, checked before anything is stored.

use broker::{memory::MemoryOptions, testing::wait::until};
use proto::{error::Code, tool::ToolSpec};
use runtime::{presence::Crew, registry};
use serde_json::{Value, json};

use super::hall::{Hall, Setup};

async fn hall() -> Hall {
    hall_with(Setup::default()).await
}

async fn hall_with(setup: Setup) -> Hall {
    let hall = Hall::with(MemoryOptions::default(), setup).await;
    announce(&hall).await;
    hall
}

/// Registers `create_task`, and waits until the door has read the registration.
pub(super) async fn announce(hall: &Hall) {
    let spec: ToolSpec = serde_json::from_value(json!({
        "name": "create_task", "description": "Creates a task.", "effect": "idempotent",
        "pool": "builtin",
        "schema": {"type": "object", "properties": {"title": {"type": "string"}},
                   "required": ["title"], "additionalProperties": false},
        "commands": [{"name": "todo", "about": "Adds a task", "argument": "title"}],
    }))
    .unwrap();
    let by = "tools".parse().unwrap();
    registry::announce(&hall.broker, spec, &by, &Crew::open(&hall.broker)).await.unwrap();
    // The door follows the registry. It shows the tool once it has read it.
    until("the tool", async || {
        let tools = hall.ask("tools", "").await.unwrap();
        !tools["tools"].as_array().unwrap().is_empty()
    })
    .await;
}

#[tokio::test]
async fn a_call_becomes_a_job_with_its_plan_whatever_the_agent_says() {
    let hall = hall().await;
    let agent =
        json!({"confirm": true, "plan": {"protocol": "phased"}, "step": {"on_failure": "replan"}});
    let body = json!({"id": "j", "goal": "/todo buy milk", "agent": agent,
                      "call": {"tool": "create_task", "args": {"title": "buy milk"}}});
    hall.ask("submit", body.to_string()).await.unwrap();
    let view = hall.ask("get", r#"{"job":"j"}"#).await.unwrap();
    assert_eq!(view["plan"]["confirmed"], true, "{view}");
    assert_eq!(view["plan"]["steps"][0]["tool"], "create_task");
    let again = hall.ask("submit", body.to_string()).await.unwrap();
    assert_eq!(again["created"], false, "the same body attaches");
}

#[tokio::test]
async fn a_call_that_cannot_be_made_is_refused_by_field_and_leaves_nothing() {
    let hall = hall().await;
    for (call, field) in [
        (json!({"tool": "dance"}), "call.tool"),
        (json!({"tool": "a.b"}), "call.tool"),
        (json!({"tool": "create_task"}), "call.args"),
        (json!({"tool": "create_task", "args": {"title": 7}}), "call.args"),
        (json!({"tool": "create_task", "args": []}), "call.args"),
        (json!({"tool": "create_task", "args": {"title": "{{step1.id}}"}}), "call.args"),
        (json!({"tool": "create_task", "arguments": {}}), "call.arguments"),
    ] {
        let body = json!({"goal": "/todo", "call": call});
        let (code, named) = hall.refused("submit", body.to_string()).await;
        assert!(matches!(code, Code::InvalidRequest | Code::InvalidId), "{call}: {code}");
        assert_eq!(named, field, "{call}");
    }
    let only = json!({"goal": "/todo", "agent": {"tools": ["echo"]},
                      "call": {"tool": "create_task", "args": {"title": "t"}}});
    assert_eq!(hall.refused("submit", only.to_string()).await.1, "call.tool");
    assert_eq!(hall.jobs().await, Vec::<String>::new());
}

/// Presets are checked against the schema of their tool at the submission, and callers cannot
/// override them.
#[tokio::test]
async fn presets_that_do_not_fit_their_tool_are_refused_by_field() {
    let hall = hall().await;
    let with = |presets: Value| json!({"goal": "g", "agent": {"tool": {"presets": presets}}});
    for (presets, field) in [
        (json!({"create_task": {"title": 7}}), "agent.tool.presets.create_task.title"),
        (json!({"create_task": {"titel": "t"}}), "agent.tool.presets.create_task.titel"),
    ] {
        let body = with(presets).to_string();
        assert_eq!(hall.refused("submit", body).await, (Code::InvalidRequest, field.into()));
    }
    let failure =
        hall.ask("submit", with(json!({"create_task": {"titel": "t"}})).to_string()).await;
    let message = failure.unwrap_err().message;
    assert!(message.ends_with("('titel' was unexpected); did you mean title?"), "{message}");
    // No worker serves that tool, so each call is checked later.
    hall.ask("submit", with(json!({"dance": {"steps": 7}})).to_string()).await.unwrap();
    let fixed = json!({"tool": {"presets": {"create_task": {"title": "milk"}}}});
    let call = |args: Value| json!({"goal": "/todo", "agent": fixed, "call": {"tool": "create_task", "args": args}});
    hall.ask("submit", call(json!({})).to_string()).await.unwrap();
    let (_, field) = hall.refused("submit", call(json!({"title": "beer"})).to_string()).await;
    assert_eq!(field, "call.args");
}

#[tokio::test]
async fn presets_of_an_agent_file_are_refused_with_their_line() {
    let hall = hall_with(Setup { presets: true, ..Setup::default() }).await;
    let text = "extends: react\ntool:\n  presets:\n    create_task:\n      titel: milk\n";
    let body = json!({"name": "mine", "text": text}).to_string();
    let failure = hall.ask("set_agent", body).await.unwrap_err();
    assert_eq!((failure.code, failure.field.as_deref()), (Code::InvalidRequest, Some("text")));
    assert_eq!(
        failure.message,
        "bucket:mine:5:7: tool.presets.create_task.titel: Additional properties are not allowed ('titel' was unexpected); did you mean title?"
    );
    let body = json!({"name": "mine", "text": text.replace("titel", "title")}).to_string();
    hall.ask("set_agent", body).await.unwrap();
}
