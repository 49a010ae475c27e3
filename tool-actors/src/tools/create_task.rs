//! `create_task`: adds a task to the task list.

use async_trait::async_trait;
use proto::tool::{Effect, SlashCommand, Split, ToolResult, ToolSpec};
use serde_json::{Value, json};

use super::{
    About, Text, command, deadline, description, id_schema, no_such_task, optional, priority, read,
    required, spec, title_schema, worded,
};
use crate::{
    tasks::{Fields, TaskList},
    tool::{CallContext, Tool, ToolFault},
};

/// The tool `create_task` on a task list.
#[derive(Debug, Clone)]
pub struct CreateTask(pub TaskList);

#[async_trait]
impl Tool for CreateTask {
    fn spec(&self) -> ToolSpec {
        let kind = json!({"type": "string", "maxLength": 64});
        let level = json!({"type": ["integer", "string"], "maxLength": 64});
        let arguments = [
            required("title", About::TaskTitle, title_schema()),
            optional("type", About::TaskType, kind),
            optional("level", About::TaskLevel, level),
            description(),
            priority(),
            optional("parentId", About::TaskParent, id_schema()),
            deadline(),
        ];
        let todo = || command("todo", About::TodoCommand, Some("title"));
        ToolSpec {
            commands: vec![todo(), worded(&["add", "添加"], todo()), schedule()],
            ..spec("create_task", About::CreateTask, Effect::Idempotent, &arguments)
        }
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let fields: Fields = read(args)?;
        if let Some(parent) = fields.parent_id
            && self.0.get(parent).await?.is_none()
        {
            return Ok(no_such_task(context.language, parent));
        }
        let made = self.0.create(&context.idempotency_key, fields, |task| {
            let title = task.title();
            ToolResult::ok(json!({"id": task.id, "title": title}))
                .with_message(Text::TaskCreated { title: &title }.text(context.language))
        });
        Ok(made.await?)
    }
}

/// Defines `/schedule call Ann by Friday`: the text after the last word that announces a deadline.
fn schedule() -> SlashCommand {
    let words = ["by", "before", "until", "due", "截止"];
    let split = Split {
        argument: "deadline".to_owned(),
        after: words.into_iter().map(str::to_owned).collect(),
    };
    SlashCommand {
        split: Some(split),
        ..command("schedule", About::ScheduleCommand, Some("title"))
    }
}
