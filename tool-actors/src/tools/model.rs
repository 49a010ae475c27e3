//! `model`: sends a task to the language model and returns its text.

use std::sync::Arc;

use async_trait::async_trait;
use model::{Model, ModelRequest, Params};
use proto::{
    message::{Message, StopReason},
    tool::{Effect, ToolResult, ToolSpec},
    work_error::ErrorClass,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{About, optional, read, required, spec};
use crate::tool::{CallContext, Tool, ToolFault};

/// The tool `model` on a language model.
#[derive(Clone, derive_more::Debug)]
#[debug("AskModel")]
pub struct AskModel(pub Arc<dyn Model>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args {
    #[serde(default)]
    system_prompt: String,
    task: String,
}

#[async_trait]
impl Tool for AskModel {
    fn spec(&self) -> ToolSpec {
        let frame = json!({"type": "string", "maxLength": 32768});
        let task = json!({"type": "string", "minLength": 1, "maxLength": 131_072});
        let arguments = [
            optional("systemPrompt", About::ModelSystem, frame),
            required("task", About::ModelTask, task),
        ];
        let spec = spec("model", About::Model, Effect::Pure, &arguments);
        ToolSpec { timeout_ms: 300_000, concurrency: 16, ..spec }
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { system_prompt, task } = read(args)?;
        let mut messages = Vec::with_capacity(2);
        if !system_prompt.is_empty() {
            messages.push(Message::System { text: system_prompt });
        }
        messages.push(Message::User { text: task });
        let request = ModelRequest { messages, tools: Vec::new(), params: Params::default() };
        let reply = match model::complete(self.0.as_ref(), request, |_| {}).await {
            Ok(reply) => reply,
            Err(error) if error.class() == ErrorClass::Outage => {
                return Err(ToolFault::outage(error.reason(context.language)));
            }
            Err(error) if error.is_transient() => {
                return Err(ToolFault::unavailable(error.reason(context.language)));
            }
            // A retry would fail in the same way.
            Err(error) => return Ok(ToolResult::failed(error.reason(context.language))),
        };
        context.meter.spend(reply.usage);
        if let Some(price) = self.0.price(None) {
            context.meter.pay(price.of(reply.usage));
        }
        let truncated = reply.stop == StopReason::Length;
        Ok(ToolResult::ok(json!({
            "response": reply.text,
            "model": reply.model,
            "usage": reply.usage,
            "truncated": truncated,
        })))
    }
}
