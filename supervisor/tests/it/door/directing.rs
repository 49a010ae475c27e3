//! `submit` with a `call`: one tool call as a job, checked before anything is stored.

use proto::{error::Code, tool::ToolSpec};
use runtime::{presence::Crew, registry};
use serde_json::json;

use super::hall::Hall;

async fn hall() -> Hall {
    let hall = Hall::new().await;
    announce(&hall).await;
    hall
}

/// Registers `create_task`, and waits until the door knows of it.
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
    // The door follows the registry; it has it when it shows it.
    for _ in 0..500 {
        let tools = hall.ask("tools", "").await.unwrap();
        if !tools["tools"].as_array().unwrap().is_empty() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the tool is never shown")
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
