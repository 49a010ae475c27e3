//! `stop`: reports that no work remains.

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde_json::{Value, json};

use super::{About, spec};
use crate::tool::{CallContext, Tool, ToolFault};

/// The tool `stop`.
#[derive(Debug, Clone, Copy)]
pub struct Stop;

#[async_trait]
impl Tool for Stop {
    fn spec(&self) -> ToolSpec {
        spec("stop", About::Stop, Effect::Pure, &[])
    }

    async fn call(&self, _: CallContext, _: Value) -> Result<ToolResult, ToolFault> {
        Ok(ToolResult::ok(json!({"response": "", "isEnd": true})))
    }
}
