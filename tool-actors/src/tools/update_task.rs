//! `update_task`: changes the fields of a task.

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Text, deadline_schema, description_schema, id_schema, no_such_task, object, priority_schema,
    read, spec, title_schema,
};
use crate::{
    tasks::{Fields, TaskList},
    tool::{CallContext, Tool, ToolFault},
};

/// The tool `update_task` on a task list.
#[derive(Debug, Clone)]
pub struct UpdateTask(pub TaskList);

#[derive(Deserialize)]
struct Args {
    id: u64,
    #[serde(flatten)]
    fields: Fields,
}

#[async_trait]
impl Tool for UpdateTask {
    fn spec(&self) -> ToolSpec {
        let schema = object(
            &json!({
                "id": id_schema("The task."),
                "title": title_schema(),
                "description": description_schema(),
                "priority": priority_schema(),
                "deadline": deadline_schema(),
                "isUnclear": {"type": "boolean", "description": "Whether it is not clear what is to be done."},
                "unclearReason": {"type": "string", "maxLength": 2048, "description": "What is not clear."},
            }),
            &["id"],
        );
        let words = "Changes a task of the task list; fields that are not given stay as they are.";
        spec("update_task", words, Effect::Idempotent, schema)
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let asked = json!(["update_task", args]);
        let Args { id, fields } = read(args)?;
        let changed = self.0.change(id, &context.idempotency_key, &asked, |task| {
            task.fields.merge(fields.clone());
            ToolResult::ok(json!({"id": id})).with_message(Text::TaskUpdated.text(context.language))
        });
        Ok(changed.await?.unwrap_or_else(|| no_such_task(context.language, id)))
    }
}
