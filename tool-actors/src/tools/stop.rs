//! `stop`: reports that no work remains.

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde_json::{Value, json};

use super::{object, spec};
use crate::tool::{CallContext, Tool, ToolFault};

/// The tool `stop`.
#[derive(Debug, Clone, Copy)]
pub struct Stop;

#[async_trait]
impl Tool for Stop {
    fn spec(&self) -> ToolSpec {
        let words = "Ends the work: says that nothing is left to be done.";
        spec("stop", words, Effect::Pure, object(&json!({}), &[]))
    }

    async fn call(&self, _: CallContext, _: Value) -> Result<ToolResult, ToolFault> {
        Ok(ToolResult::ok(json!({"response": "", "isEnd": true})))
    }
}
