//! Tools and commands for the tests of this crate.

#![expect(clippy::needless_pass_by_value, reason = "JSON literals read better unborrowed")]

use proto::{decision::PlanWork, tool::ToolSpec};
use serde_json::{Value, json};

/// Builds a tool of the pool `p`.
pub(crate) fn tool(name: &str, properties: Value, required: &[&str]) -> ToolSpec {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let spec = json!({
        "name": name, "description": format!("does\n {name}"), "schema": schema,
        "effect": "idempotent", "pool": "p", "version": "7"
    });
    serde_json::from_value(spec).unwrap()
}

/// Returns the test tools: `create_task`, `complete_task` and the forbidden `secret`.
pub(crate) fn tools() -> Vec<ToolSpec> {
    let title = json!({"type": "string", "description": "a few words"});
    vec![
        tool("create_task", json!({"title": title, "tags": {"type": "array"}}), &["title"]),
        tool("complete_task", json!({"id": {"type": "integer"}}), &["id"]),
        tool("secret", json!({}), &[]),
    ]
}

/// Builds a command from default fields, overridden by `fields`.
pub(crate) fn work(fields: Value) -> PlanWork {
    let mut work = json!({
        "work": "g0.p1", "attempt": 1, "goal": "Complete task 62", "language": "en",
        "may_ask": true, "tools": ["create_task", "complete_task"]
    });
    for (name, value) in fields.as_object().unwrap() {
        work[name] = value.clone();
    }
    serde_json::from_value(work).unwrap()
}
