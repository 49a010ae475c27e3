//! A server's tool behind the interface of tools.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use proto::tool::{Fault, ToolResult, ToolSpec};
use serde_json::Value;
use tool_actors::{CallContext, Tool, ToolFault};

use crate::{
    call::{self, Answer, CallFailure},
    launch::escaped,
    result,
    server::{READY_WITHIN, Server, Unreachable},
    specs::FoundTool,
    words::Text,
};

/// A tool of a server.
#[derive(Debug)]
pub(crate) struct McpTool {
    pub(crate) server: Arc<Server>,
    pub(crate) found: FoundTool,
}

#[async_trait]
impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        self.found.spec.clone()
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let (language, server) = (context.language, self.server.name());
        let Value::Object(args) = args else {
            return Err(ToolFault::invalid(Text::ArgumentsObject.text(language)));
        };
        let connected = tokio::time::timeout(READY_WITHIN, self.server.connect()).await;
        let connection = connected.unwrap_or(Err(Unreachable::Waits)).map_err(|why| {
            ToolFault::unavailable(Text::Unreachable { server, why: &why }.text(language))
        })?;
        // A server that was started for this call may have changed its tools.
        if !self.server.offers(&self.found).await {
            let why = Text::Changed { tool: &self.found.spec.name, server };
            return Err(ToolFault::new(Fault::VersionMismatch, why.text(language)));
        }
        let limit = Duration::from_millis(self.server.settings().timeout_ms);
        let called = call::call(connection.peer(), &self.found.remote, args, limit).await;
        match called {
            Ok(Answer::Complete(answer)) => {
                self.server.answered();
                Ok(result::of(&answer, self.found.output.as_deref(), language))
            }
            Ok(Answer::NeedsInput) => Ok(ToolResult::failed(Text::NeedsInput.text(language))),
            Ok(Answer::Task) => Ok(ToolResult::failed(Text::IsTask.text(language))),
            Err(CallFailure::Refused(error)) => {
                self.server.answered();
                let message = escaped(&error.message);
                let why = Text::Refused { code: &error.code.0, message: &message };
                Ok(ToolResult::failed(why.text(language)))
            }
            Err(CallFailure::Late(limit)) => {
                let why = Text::Late { server, seconds: &limit.as_secs_f64() }.text(language);
                Err(ToolFault::new(Fault::Timeout, why))
            }
            Err(CallFailure::Lost(why)) => {
                let stderr = connection.stderr();
                tracing::warn!(%server, why, stderr = escaped(&stderr), "an MCP server was lost in a call");
                // The next call opens another connection, and lists its tools first.
                self.server.lost(&connection);
                let why = &escaped(&why);
                Err(ToolFault::internal(Text::Lost { server, why }.text(language)))
            }
            Err(CallFailure::Odd) => Err(ToolFault::internal(Text::Odd { server }.text(language))),
        }
    }
}
