//! `echo`: returns its argument. For tests of agents and for measurements.

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde_json::{Value, json};

use super::{object, spec};
use crate::tool::{CallContext, Tool, ToolFault};

/// The tool `echo`.
#[derive(Debug, Clone, Copy)]
pub struct Echo;

#[async_trait]
impl Tool for Echo {
    fn spec(&self) -> ToolSpec {
        let schema = object(&json!({"value": {"description": "Anything."}}), &["value"]);
        let words = "Answers with the value it is given. For testing.";
        ToolSpec { concurrency: 1024, ..spec("echo", words, Effect::Pure, schema) }
    }

    async fn call(&self, _: CallContext, mut args: Value) -> Result<ToolResult, ToolFault> {
        Ok(ToolResult::ok(args.get_mut("value").map(Value::take).unwrap_or_default()))
    }
}
