//! `write_file`: writes a text file beneath the workspace.

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{About, Text, not_done, optional, path_schema, read, required, spec, write};
use crate::{
    tool::{CallContext, Tool, ToolFault},
    workspace::{Change, Workspaces},
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
        let content = json!({"type": "string", "maxLength": 1_048_576});
        let arguments = [
            required("path", About::WritePath, path_schema()),
            required("content", About::WriteContent, content),
            optional("append", About::WriteAppend, json!({"type": "boolean"})),
        ];
        spec("write_file", About::WriteFile, Effect::Idempotent, &arguments)
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { path, content, append } = read(args)?;
        let change = if append { Change::Append(content) } else { Change::Replace(content) };
        match write(&self.0, &context, path, change).await? {
            Err(error) => not_done(&error, context.language),
            Ok(written) => {
                let path = written.path.clone();
                Ok(ToolResult::ok(json!(written))
                    .with_message(Text::FileWritten { path: &path }.text(context.language)))
            }
        }
    }
}
