//! The built-in tools. All are in the pool `builtin`.

mod close_task;
mod create_task;
mod echo;
mod http_get;
mod http_post;
mod list_tasks;
mod model;
mod read_attachment;
mod read_file;
mod slash;
mod sleep;
mod stop;
mod text;
mod update_task;
mod write_file;

use proto::{
    decision::pools,
    id::ToolName,
    lang::Language,
    tool::{Approval, Effect, Fault, SlashCommand, ToolResult, ToolSpec},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub use self::{
    close_task::CloseTask, create_task::CreateTask, echo::Echo, http_get::HttpGet,
    http_post::HttpPost, list_tasks::ListTasks, model::AskModel, read_attachment::ReadAttachment,
    read_file::ReadFile, slash::SlashTool, sleep::Sleep, stop::Stop, update_task::UpdateTask,
    write_file::WriteFile,
};
use crate::{tasks::TaskError, tool::ToolFault, workspace::FileError};

messages::texts!(tools);

/// Largest id of a task: every JSON parser represents it exactly.
const ID_MAX: u64 = (1 << 53) - 1;

/// Builds a specification with the defaults of the built-in tools.
fn spec(name: &str, description: &str, effect: Effect, schema: Value) -> ToolSpec {
    ToolSpec {
        name: ToolName::new(name).expect("the names of built-in tools are ids"),
        description: description.to_owned(),
        schema,
        effect,
        pool: pools::builtin(),
        timeout_ms: 30_000,
        concurrency: 64,
        approval: Approval::Never,
        destructive: false,
        version: "1".to_owned(),
        commands: Vec::new(),
    }
}

/// Builds a slash command whose text is the argument `argument`, or which takes no text.
fn command(name: &str, about: &str, argument: Option<&str>) -> SlashCommand {
    SlashCommand {
        name: ToolName::new(name).expect("the commands of built-in tools are ids"),
        words: Vec::new(),
        about: about.to_owned(),
        argument: argument.map(str::to_owned),
        whole: false,
        split: None,
    }
}

/// Builds the schema of an object with these fields and no others.
fn object(properties: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Builds a slash command that one of these words must follow.
fn worded(words: &[&str], command: SlashCommand) -> SlashCommand {
    SlashCommand { words: words.iter().map(|word| (*word).to_owned()).collect(), ..command }
}

/// Parses arguments that fit the schema.
fn read<T: DeserializeOwned>(args: Value) -> Result<T, ToolFault> {
    serde_json::from_value(args).map_err(|e| ToolFault::invalid(e.to_string()))
}

fn no_such_task(language: Language, id: u64) -> ToolResult {
    ToolResult::failed(Text::NoSuchTask { id: &id }.text(language))
}

impl From<TaskError> for ToolFault {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::Storage(_) => Self::outage(error.to_string()),
            TaskError::Busy => Self::unavailable(error.to_string()),
            TaskError::KeyUsed => Self::invalid(error.to_string()),
            TaskError::Damaged { .. } => Self::internal(error.to_string()),
        }
    }
}

/// Converts a file error: one that a model can act upon becomes a result, any other a fault.
fn not_done(error: &FileError, language: Language) -> Result<ToolResult, ToolFault> {
    let fault = match error {
        FileError::Missing(_)
        | FileError::Outside(_)
        | FileError::Path { .. }
        | FileError::Kind { .. }
        | FileError::Protected(_)
        | FileError::TooLarge { .. }
        | FileError::KeyUsed(_)
        | FileError::Failed { .. } => return Ok(ToolResult::failed(error.text(language))),
        FileError::Unknown(_) => Fault::Unknown,
        FileError::Full(_) | FileError::Busy | FileError::Canceled | FileError::Unsupported => {
            Fault::Unavailable
        }
    };
    Err(ToolFault::new(fault, error.text(language)))
}

/// Runs blocking work on a separate thread.
async fn unblocked<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolFault> {
    let joined = tokio::task::spawn_blocking(work).await;
    joined.map_err(|_| ToolFault::internal("the tool broke"))
}

/// The schema of a task's id.
fn id_schema(description: &str) -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": ID_MAX, "description": description})
}

/// The schemas of a task's fields, shared by the tools that create and change tasks.
fn title_schema() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 512, "description": "What is to be done, in a line."})
}

fn description_schema() -> Value {
    json!({"type": "string", "maxLength": 8192, "description": "More words."})
}

fn priority_schema() -> Value {
    json!({"type": ["string", "integer"], "maxLength": 64, "description": "How urgent: a word or a number."})
}

fn deadline_schema() -> Value {
    json!({"type": "string", "maxLength": 64, "description": "When it must be done, preferably as RFC 3339."})
}

#[cfg(test)]
mod tests;
