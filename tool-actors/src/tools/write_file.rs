//! `write_file`: writes a text file beneath the workspace.

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Text, not_done, object, read, spec, unblocked};
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
        let schema = object(
            &json!({
                "path": {"type": "string", "minLength": 1, "maxLength": 1024, "description": "Relative to the workspace. Directories on the way are made."},
                "content": {"type": "string", "maxLength": 1_048_576, "description": "The text."},
                "append": {"type": "boolean", "description": "At the end of what is there, instead of in its place."},
            }),
            &["path", "content"],
        );
        let words = "Writes a text file of the workspace, in place of what is there or at its end.";
        spec("write_file", words, Effect::Idempotent, schema)
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
