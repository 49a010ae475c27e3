//! `read_file`: reads a text file beneath the workspace.

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{About, Text, not_done, read, required, spec, text, unblocked};
use crate::{
    tool::{CallContext, Tool, ToolFault},
    workspace::Workspaces,
};

/// The tool `read_file` on the job's workspace.
#[derive(Debug, Clone)]
pub struct ReadFile(pub Workspaces);

#[derive(Deserialize)]
struct Args {
    path: String,
}

#[async_trait]
impl Tool for ReadFile {
    fn spec(&self) -> ToolSpec {
        let path = json!({"type": "string", "minLength": 1, "maxLength": 1024});
        let path = required("path", About::ReadPath, path);
        spec("read_file", About::ReadFile, Effect::Pure, &[path])
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { path } = read(args)?;
        let owner = context.files.owner(&context.job).await?;
        let (workspace, at) = (self.0.of(&owner), path.clone());
        match unblocked(move || workspace.read(&at)).await? {
            Err(error) => not_done(&error, context.language),
            Ok(content) => {
                let text = text::of(&content.bytes);
                let bytes = content.size;
                let read = ToolResult::ok(json!({
                    "path": path,
                    "content": text.text,
                    "bytes": bytes,
                    "truncated": content.truncated || text.truncated,
                }));
                // The message for people describes the read; the content is for the model and later
                // steps.
                Ok(read.with_message(
                    Text::FileRead { path: &path, bytes: &bytes }.text(context.language),
                ))
            }
        }
    }
}
