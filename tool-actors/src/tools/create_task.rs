//! `create_task`: adds a task to the task list.

use async_trait::async_trait;
use proto::tool::{Effect, SlashCommand, Split, ToolResult, ToolSpec};
use serde_json::{Value, json};

use super::{
    Text, command, deadline_schema, description_schema, id_schema, no_such_task, object,
    priority_schema, read, spec, title_schema, worded,
};
use crate::{
    tasks::{Fields, TaskList},
    tool::{CallContext, Tool, ToolFault},
};

/// Description of `/todo`.
const ADDS: &str = "Adds a task to the task list";

/// The tool `create_task` on a task list.
#[derive(Debug, Clone)]
pub struct CreateTask(pub TaskList);

#[async_trait]
impl Tool for CreateTask {
    fn spec(&self) -> ToolSpec {
        let schema = object(
            &json!({
                "title": title_schema(),
                "type": {"type": "string", "maxLength": 64, "description": "What kind of task it is."},
                "level": {"type": ["integer", "string"], "maxLength": 64, "description": "Its level in a hierarchy of tasks."},
                "description": description_schema(),
                "priority": priority_schema(),
                "parentId": id_schema("The task it is a part of."),
                "deadline": deadline_schema(),
            }),
            &["title"],
        );
        let words = "Creates a task in the task list and gives its id and title.";
        ToolSpec {
            commands: vec![
                command("todo", ADDS, Some("title")),
                worded(&["add", "添加"], command("todo", ADDS, Some("title"))),
                schedule(),
            ],
            ..spec("create_task", words, Effect::Idempotent, schema)
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
    let about = "Adds a task with a deadline: /schedule call Ann by 2026-12-01";
    SlashCommand { split: Some(split), ..command("schedule", about, Some("title")) }
}
