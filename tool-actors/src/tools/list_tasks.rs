//! `list_tasks`: returns the task list, optionally filtered by status.

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Text, command, object, read, spec, worded};
use crate::{
    tasks::{Status, TaskList},
    tool::{CallContext, Tool, ToolFault},
};

/// Largest number of tasks in one result.
const TASKS_MAX: usize = 200;

/// The tool `list_tasks` on a task list.
#[derive(Debug, Clone)]
pub struct ListTasks(pub TaskList);

#[derive(Deserialize)]
struct Args {
    status: Option<Status>,
}

#[async_trait]
impl Tool for ListTasks {
    fn spec(&self) -> ToolSpec {
        let status =
            json!({"enum": ["pending", "completed"], "description": "Only tasks that stand so."});
        let schema = object(&json!({"status": status}), &[]);
        let words = "Lists the tasks of the task list by id, at most 200.";
        ToolSpec {
            commands: vec![
                command("view", "Shows the task list", None),
                worded(&["list", "列表"], command("todo", "Shows the task list", None)),
            ],
            ..spec("list_tasks", words, Effect::Pure, schema)
        }
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { status } = read(args)?;
        let mut tasks = self.0.list().await?;
        tasks.retain(|task| status.is_none_or(|wanted| task.status == wanted));
        let count = tasks.len();
        tasks.truncate(TASKS_MAX);
        let truncated = count > tasks.len();
        let data = json!({"tasks": tasks, "count": count, "truncated": truncated});
        Ok(ToolResult::ok(data).with_message(Text::Tasks { count: &count }.text(context.language)))
    }
}
