//! `delete_file`: removes a file of the workspace.

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{About, Text, not_done, on_workspace, path_schema, read, required, spec};
use crate::{
    tool::{CallContext, Tool, ToolFault},
    workspace::{Relocation, Workspaces},
};

/// The tool `delete_file` on the job's workspace.
#[derive(Debug, Clone)]
pub struct DeleteFile(pub Workspaces);

#[derive(Deserialize)]
struct Args {
    path: String,
}

#[async_trait]
impl Tool for DeleteFile {
    fn spec(&self) -> ToolSpec {
        let path = required("path", About::DeletePath, path_schema());
        let spec = spec("delete_file", About::DeleteFile, Effect::Idempotent, &[path]);
        ToolSpec { destructive: true, ..spec }
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { path } = read(args)?;
        let key = context.idempotency_key.clone();
        let relocation = Relocation { from: path.clone(), to: None, key };
        let deleted = on_workspace(&self.0, &context, move |workspace, canceled| {
            workspace.relocate(&relocation, canceled)
        });
        match deleted.await? {
            Err(error) => not_done(&error, context.language),
            Ok(bytes) => {
                let message = Text::FileDeleted { path: &path }.text(context.language);
                Ok(ToolResult::ok(json!({ "path": path, "bytes": bytes })).with_message(message))
            }
        }
    }
}
