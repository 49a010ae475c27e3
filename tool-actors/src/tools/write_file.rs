//! `write_file`: writes a text file beneath the workspace.

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{About, Text, not_done, optional, read, required, spec, unblocked};
use crate::{
    tool::{CallContext, Tool, ToolFault},
    workspace::{Workspaces, Write},
};

/// The tool `write_file` on the job's workspace.
#[derive(Debug, Clone)]
pub struct WriteFile(pub Workspaces);

#[derive(Deserialize)]
struct Args {
    path: String,
    content: String,
    #[serde(default)]
    append: bool,
}

#[async_trait]
impl Tool for WriteFile {
    fn spec(&self) -> ToolSpec {
        let path = json!({"type": "string", "minLength": 1, "maxLength": 1024});
        let content = json!({"type": "string", "maxLength": 1_048_576});
        let arguments = [
            required("path", About::WritePath, path),
            required("content", About::WriteContent, content),
            optional("append", About::WriteAppend, json!({"type": "boolean"})),
        ];
        spec("write_file", About::WriteFile, Effect::Idempotent, &arguments)
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { path, content, append } = read(args)?;
        let owner = context.files.owner(&context.job).await?;
        let key = context.idempotency_key;
        let write = Write { path, content, append, key };
        // Dropping this future cancels the token too, because the blocking thread outlives it.
        let canceled = context.canceled.child_token();
        let _guard = canceled.clone().drop_guard();
        let workspace = self.0.of(&owner);
        match unblocked(move || workspace.write(&write, &canceled)).await? {
            Err(error) => not_done(&error, context.language),
            Ok(written) => {
                let path = written.path.clone();
                Ok(ToolResult::ok(json!(written))
                    .with_message(Text::FileWritten { path: &path }.text(context.language)))
            }
        }
    }
}
