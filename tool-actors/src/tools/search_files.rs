//! `search_files`: searches files of the workspace for lines.

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    About, Text, directory, not_done, on_workspace, optional, pattern_schema, read, required, spec,
};
use crate::{
    tool::{CallContext, Tool, ToolFault},
    workspace::{Search, Workspaces},
};

/// The tool `search_files` on the job's workspace.
#[derive(Debug, Clone)]
pub struct SearchFiles(pub Workspaces);

#[derive(Deserialize)]
struct Args {
    pattern: String,
    #[serde(default)]
    path: String,
    files: Option<String>,
    #[serde(default)]
    ignore_case: bool,
}

#[async_trait]
impl Tool for SearchFiles {
    fn spec(&self) -> ToolSpec {
        let arguments = [
            required("pattern", About::SearchPattern, pattern_schema()),
            directory(),
            optional("files", About::SearchFilesPattern, pattern_schema()),
            optional("ignore_case", About::SearchIgnoreCase, json!({"type": "boolean"})),
        ];
        spec("search_files", About::SearchFiles, Effect::Pure, &arguments)
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { pattern, path, files, ignore_case } = read(args)?;
        let search = Search { pattern, path, files, ignore_case };
        let found = on_workspace(&self.0, &context, move |workspace, canceled| {
            workspace.search(&search, canceled)
        });
        match found.await? {
            Err(error) => not_done(&error, context.language),
            Ok(found) => {
                let (lines, files) = (found.matches.len(), found.files);
                let data = json!({
                    "matches": found.matches,
                    "files": files,
                    "truncated": found.truncated,
                });
                let message = Text::LinesFound { lines: &lines, files: &files };
                Ok(ToolResult::ok(data).with_message(message.text(context.language)))
            }
        }
    }
}
