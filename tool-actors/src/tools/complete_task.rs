//! `complete_task`: marks a task as done.

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Text, id_schema, no_such_task, object, read, spec};
use crate::{
    tasks::{Status, TaskList},
    tool::{CallContext, Tool, ToolFault},
};

/// The tool `complete_task` on a task list.
#[derive(Debug, Clone)]
pub struct CompleteTask(pub TaskList);

#[derive(Deserialize)]
struct Args {
    id: u64,
}

#[async_trait]
impl Tool for CompleteTask {
    fn spec(&self) -> ToolSpec {
        let schema = object(&json!({"id": id_schema("The task.")}), &["id"]);
        spec("complete_task", "Marks a task of the task list as done.", Effect::Idempotent, schema)
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { id } = read(args)?;
        let changed = self.0.change(id, &context.idempotency_key, |task| {
            task.status = Status::Completed;
            let title = task.title();
            ToolResult::ok(json!({"id": id, "title": title}))
                .with_message(Text::TaskCompleted { title: &title }.text(context.language))
        });
        Ok(changed.await?.unwrap_or_else(|| no_such_task(context.language, id)))
    }
}
