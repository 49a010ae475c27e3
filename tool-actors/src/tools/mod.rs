//! The built-in tools. All are in the pool `builtin`.

mod about;
mod close_task;
mod create_task;
mod delete_file;
mod echo;
mod edit_file;
mod find_files;
mod http_get;
mod http_post;
mod list_files;
mod list_tasks;
mod model;
mod move_file;
mod publish_file;
mod read_attachment;
mod read_file;
mod run;
mod search_files;
mod slash;
mod sleep;
mod stop;
pub(crate) mod text;
mod update_task;
mod web_search;
mod write_file;

use proto::{
    lang::Language,
    tool::{Fault, ToolResult},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use self::about::{About, Argument, command, optional, required, spec, worded};
pub use self::{
    close_task::CloseTask, create_task::CreateTask, delete_file::DeleteFile, echo::Echo,
    edit_file::EditFile, find_files::FindFiles, http_get::HttpGet, http_post::HttpPost,
    list_files::ListFiles, list_tasks::ListTasks, model::AskModel, move_file::MoveFile,
    publish_file::PublishFile, read_attachment::ReadAttachment, read_file::ReadFile, run::Run,
    search_files::SearchFiles, slash::SlashTool, sleep::Sleep, stop::Stop, update_task::UpdateTask,
    web_search::WebSearch, write_file::WriteFile,
};
use tokio_util::sync::CancellationToken;

use crate::{
    tasks::TaskError,
    tool::{CallContext, ToolFault},
    workspace::{Change, FileError, Listing, Workspace, Workspaces, Write, Written},
};

messages::texts!(tools);

/// Largest id of a task: every JSON parser represents it exactly.
const ID_MAX: u64 = (1 << 53) - 1;

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
        | FileError::Binary(_)
        | FileError::NoMatch(_)
        | FileError::Ambiguous { .. }
        | FileError::Pattern { .. }
        | FileError::Exists(_)
        | FileError::Shared(_)
        | FileError::Failed { .. } => return Ok(ToolResult::failed(error.text(language))),
        FileError::Unknown(_) => Fault::Unknown,
        FileError::Full(_) | FileError::Busy | FileError::Canceled | FileError::Unsupported => {
            Fault::Unavailable
        }
    };
    Err(ToolFault::new(fault, error.text(language)))
}

/// Runs blocking work on a separate thread.
pub(crate) async fn unblocked<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolFault> {
    let joined = tokio::task::spawn_blocking(work).await;
    joined.map_err(|_| ToolFault::internal("the tool broke"))
}

/// Runs blocking work on the workspace of the calling job. The work can see that the call has been
/// cancelled.
async fn on_workspace<T: Send + 'static>(
    workspaces: &Workspaces,
    context: &CallContext,
    work: impl FnOnce(&Workspace, &CancellationToken) -> T + Send + 'static,
) -> Result<T, ToolFault> {
    let owner = context.files.owner(&context.job).await?;
    // Dropping this future cancels the token too, because the blocking thread outlives it.
    let canceled = context.canceled.child_token();
    let _guard = canceled.clone().drop_guard();
    let workspace = workspaces.of(&owner);
    unblocked(move || work(&workspace, &canceled)).await
}

/// Changes a file of the workspace of the calling job, once per idempotency key.
async fn write(
    workspaces: &Workspaces,
    context: &CallContext,
    path: String,
    change: Change,
) -> Result<Result<Written, FileError>, ToolFault> {
    let write = Write { path, change, key: context.idempotency_key.clone() };
    on_workspace(workspaces, context, move |workspace, canceled| workspace.write(&write, canceled))
        .await
}

/// Returns a list of files as the result of a tool.
fn listed(listing: Listing, message: String) -> ToolResult {
    let Listing { entries, truncated, .. } = listing;
    ToolResult::ok(json!({ "files": entries, "truncated": truncated })).with_message(message)
}

/// The schema of the path of a file.
fn path_schema() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 1024})
}

/// The argument that names the directory of a search.
fn directory() -> Argument {
    optional("path", About::DirectoryPath, json!({"type": "string", "maxLength": 1024}))
}

/// The schema of a pattern.
fn pattern_schema() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 1024})
}

/// The schema of a task's id.
fn id_schema() -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": ID_MAX})
}

/// The fields of a task, shared by the tools that create and change tasks.
fn title_schema() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 512})
}

fn description() -> Argument {
    optional("description", About::TaskDescription, json!({"type": "string", "maxLength": 8192}))
}

fn priority() -> Argument {
    let schema = json!({"type": ["string", "integer"], "maxLength": 64});
    optional("priority", About::TaskPriority, schema)
}

fn deadline() -> Argument {
    optional("deadline", About::TaskDeadline, json!({"type": "string", "maxLength": 64}))
}

#[cfg(test)]
pub(crate) mod tests;
