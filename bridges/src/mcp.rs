//! The MCP server: jobs, questions and answers as tools and tasks, in the protocol versions
//! 2025-11-25 and 2026-07-28.
//!
//! The server has no sessions: a request carries all that it needs, so any gateway answers it.

mod arguments;
mod calls;
mod elicitation;
mod http;
mod questions;
mod status;
mod stdio;
mod tasks;
mod tools;
mod words;

use ::client::Client;
use proto::{
    error::Failure,
    lang::{Language, Words},
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ContentBlock,
        GetTaskParams, GetTaskResult, Implementation, JsonObject, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, UpdateTaskParams,
    },
    service::RequestContext,
};
use serde_json::{Value, json};

use self::{
    elicitation::{Asking, Call},
    tools::ToolName,
    words::Text,
};
pub use self::{
    http::{Response, answer},
    stdio::{StdioError, serve},
};

/// The MCP server of one caller.
#[derive(Debug, Clone)]
pub struct McpServer {
    client: Client,
    language: Language,
    version: &'static str,
}

impl McpServer {
    /// Creates the server of a caller, whose token the client carries.
    #[must_use]
    pub fn new(client: Client, language: Language, version: &'static str) -> Self {
        Self { client, language, version }
    }

    /// Returns the result of a tool that was refused: the model reads the code and the next action.
    fn refused(&self, failure: &Failure) -> CallToolResult {
        // Structured content must fit the schema of the tool's results, so the error is text.
        let error = json!({"error": self.shown(failure)}).to_string();
        CallToolResult::error(vec![ContentBlock::text(error)])
    }

    /// Returns the protocol's error for a refusal.
    fn error(&self, failure: &Failure) -> ErrorData {
        let shown = self.shown(failure);
        ErrorData::invalid_params(failure.message_in(self.language), Some(shown))
    }

    fn shown(&self, failure: &Failure) -> Value {
        let mut shown = json!({
            "code": failure.code,
            "message": failure.message_in(self.language),
            "hint": failure.hint_in(self.language),
        });
        if let Some(field) = &failure.field {
            shown["field"] = json!(field);
        }
        shown
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tasks().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("callboard", self.version))
            .with_instructions(Text::Instructions.text(self.language))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = ToolName::ALL.iter().map(|tool| tool.describe(self.language)).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        name.parse().ok().map(|tool: ToolName| tool.describe(self.language))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Ok(tool) = request.name.parse::<ToolName>() else {
            let why = Text::UnknownTool { name: &request.name };
            return Err(ErrorData::invalid_params(why.text(self.language), None));
        };
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let (version, capabilities) = (context.protocol_version(), context.client_capabilities());
        let asking = Asking::of(version.as_ref(), capabilities.as_ref());
        let refused = |failure: Failure| self.error(&failure);
        let seal = self.seal(tool, &arguments).map_err(refused)?;
        let asked = match request.request_state {
            Some(state) => {
                let asked = seal.open(&state).map_err(refused)?;
                Some((asked, request.input_responses.unwrap_or_default()))
            }
            None => None,
        };
        let called = self.call(Call { tool, asking, asked, seal }, arguments);
        // A request that its client withdrew ends its wait. The job goes on.
        let called = context.ct.run_until_cancelled(called).await;
        let withdrawn = || ErrorData::internal_error(Text::Withdrawn.text(self.language), None);
        match called.ok_or_else(withdrawn)? {
            Ok(response) => Ok(response),
            Err(failure) => Ok(self.refused(&failure).into()),
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let task = self.task(&request.task_id).await;
        task.map(GetTaskResult::new).map_err(|failure| self.error(&failure))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let updated = self.update(&request.task_id, request.input_responses).await;
        updated.map_err(|failure| self.error(&failure))
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.cancel(&request.task_id).await.map_err(|failure| self.error(&failure))
    }
}

impl From<Text<'_>> for Words {
    fn from(text: Text<'_>) -> Self {
        Self::new(|language| text.text(language))
    }
}

/// Returns the members of a value that is an object.
fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(members) => members,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            JsonObject::new()
        }
    }
}
