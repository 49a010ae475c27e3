//! `list_tasks`: returns the task list, optionally filtered by status.

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{About, Text, command, optional, read, spec, worded};
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
        let status = json!({"enum": ["pending", "completed"]});
        let status = optional("status", About::TaskStatus, status);
        let view = |name| command(name, About::ViewCommand, None);
        ToolSpec {
            commands: vec![view("view"), worded(&["list", "列表"], view("todo"))],
            ..spec("list_tasks", About::ListTasks, Effect::Pure, &[status])
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
