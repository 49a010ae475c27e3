//! `move_file`: moves a file of the workspace.

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{About, Text, not_done, on_workspace, path_schema, read, required, spec};
use crate::{
    tool::{CallContext, Tool, ToolFault},
    workspace::{Relocation, Workspaces},
};

/// The tool `move_file` on the job's workspace.
#[derive(Debug, Clone)]
pub struct MoveFile(pub Workspaces);

#[derive(Deserialize)]
struct Args {
    from: String,
    to: String,
}

#[async_trait]
impl Tool for MoveFile {
    fn spec(&self) -> ToolSpec {
        let arguments = [
            required("from", About::MoveFrom, path_schema()),
            required("to", About::MoveTo, path_schema()),
        ];
        spec("move_file", About::MoveFile, Effect::Idempotent, &arguments)
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { from, to } = read(args)?;
        let key = context.idempotency_key.clone();
        let relocation = Relocation { from: from.clone(), to: Some(to.clone()), key };
        let moved = on_workspace(&self.0, &context, move |workspace, canceled| {
            workspace.relocate(&relocation, canceled)
        });
        match moved.await? {
            Err(error) => not_done(&error, context.language),
            Ok(bytes) => {
                let message = Text::FileMoved { from: &from, to: &to }.text(context.language);
                let data = json!({ "from": from, "to": to, "bytes": bytes });
                Ok(ToolResult::ok(data).with_message(message))
            }
        }
    }
}
