//! `edit_file`: replaces a text in a file of the workspace.

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{About, Text, not_done, optional, path_schema, read, required, spec, write};
use crate::{
    tool::{CallContext, Tool, ToolFault},
    workspace::{Change, Edit, Workspaces},
};

/// The tool `edit_file` on the job's workspace.
#[derive(Debug, Clone)]
pub struct EditFile(pub Workspaces);

#[derive(Deserialize)]
struct Args {
    path: String,
    old: String,
    new: String,
    #[serde(default)]
    all: bool,
}

#[async_trait]
impl Tool for EditFile {
    fn spec(&self) -> ToolSpec {
        let old = json!({"type": "string", "minLength": 1, "maxLength": 1_048_576});
        let new = json!({"type": "string", "maxLength": 1_048_576});
        let arguments = [
            required("path", About::EditPath, path_schema()),
            required("old", About::EditOld, old),
            required("new", About::EditNew, new),
            optional("all", About::EditAll, json!({"type": "boolean"})),
        ];
        spec("edit_file", About::EditFile, Effect::Idempotent, &arguments)
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { path, old, new, all } = read(args)?;
        let change = Change::Edit(Edit { old, new, all });
        match write(&self.0, &context, path, change).await? {
            Err(error) => not_done(&error, context.language),
            Ok(written) => {
                let times = written.replaced.unwrap_or_default();
                let message = Text::FileEdited { path: &written.path, times: &times };
                let message = message.text(context.language);
                let data = json!({
                    "path": written.path,
                    "bytes": written.bytes,
                    "replaced": times,
                });
                Ok(ToolResult::ok(data).with_message(message))
            }
        }
    }
}
