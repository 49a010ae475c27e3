//! `complete_task` and `delete_task`: mark a task as done, and remove one from the task list.

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{About, Text, id_schema, no_such_task, read, required, spec};
use crate::{
    tasks::{Status, TaskList},
    tool::{CallContext, Tool, ToolFault},
};

/// A tool that takes a task off the pending ones of a task list.
#[derive(Debug, Clone)]
pub enum CloseTask {
    /// The tool `complete_task`.
    Complete(TaskList),
    /// The tool `delete_task`.
    Delete(TaskList),
}

#[derive(Deserialize)]
struct Args {
    id: u64,
}

#[async_trait]
impl Tool for CloseTask {
    fn spec(&self) -> ToolSpec {
        let (name, about) = match self {
            Self::Complete(_) => ("complete_task", About::CompleteTask),
            Self::Delete(_) => ("delete_task", About::DeleteTask),
        };
        let destructive = matches!(self, Self::Delete(_));
        let id = required("id", About::TaskId, id_schema());
        ToolSpec { destructive, ..spec(name, about, Effect::Idempotent, &[id]) }
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { id } = read(args)?;
        let (Self::Complete(tasks) | Self::Delete(tasks)) = self;
        let asked = json!([self.spec().name, id]);
        let changed = tasks.change(id, &context.idempotency_key, &asked, |task| {
            task.status = match self {
                Self::Complete(_) => Status::Completed,
                Self::Delete(_) => Status::Deleted,
            };
            let title = &task.title();
            let message = match self {
                Self::Complete(_) => Text::TaskCompleted { title },
                Self::Delete(_) => Text::TaskDeleted { title },
            };
            ToolResult::ok(json!({"id": id, "title": title}))
                .with_message(message.text(context.language))
        });
        Ok(changed.await?.unwrap_or_else(|| no_such_task(context.language, id)))
    }
}
