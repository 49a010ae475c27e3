//! `update_task`: changes the fields of a task.

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    About, Text, deadline, description, id_schema, no_such_task, optional, priority, read,
    required, spec, title_schema,
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
        let arguments = [
            required("id", About::TaskId, id_schema()),
            optional("title", About::TaskTitle, title_schema()),
            description(),
            priority(),
            deadline(),
            optional("isUnclear", About::TaskIsUnclear, json!({"type": "boolean"})),
            optional(
                "unclearReason",
                About::TaskUnclearReason,
                json!({"type": "string", "maxLength": 2048}),
            ),
        ];
        spec("update_task", About::UpdateTask, Effect::Idempotent, &arguments)
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
