//! `echo`: returns its argument. For tests of agents and for measurements.

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde_json::{Value, json};

use super::{About, required, spec};
use crate::tool::{CallContext, Tool, ToolFault};

/// The tool `echo`.
#[derive(Debug, Clone, Copy)]
pub struct Echo;

#[async_trait]
impl Tool for Echo {
    fn spec(&self) -> ToolSpec {
        let value = required("value", About::EchoValue, json!({}));
        ToolSpec { concurrency: 1024, ..spec("echo", About::Echo, Effect::Pure, &[value]) }
    }

    async fn call(&self, _: CallContext, mut args: Value) -> Result<ToolResult, ToolFault> {
        Ok(ToolResult::ok(args.get_mut("value").map(Value::take).unwrap_or_default()))
    }
}
