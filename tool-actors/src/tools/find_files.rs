//! `find_files`: finds files of the workspace by path.

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::Value;

use super::{
    About, Text, directory, listed, not_done, on_workspace, pattern_schema, read, required, spec,
};
use crate::{
    tool::{CallContext, Tool, ToolFault},
    workspace::Workspaces,
};

/// The tool `find_files` on the job's workspace.
#[derive(Debug, Clone)]
pub struct FindFiles(pub Workspaces);

#[derive(Deserialize)]
struct Args {
    pattern: String,
    #[serde(default)]
    path: String,
}

#[async_trait]
impl Tool for FindFiles {
    fn spec(&self) -> ToolSpec {
        let pattern = required("pattern", About::FindPattern, pattern_schema());
        spec("find_files", About::FindFiles, Effect::Pure, &[pattern, directory()])
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { pattern, path } = read(args)?;
        let found = on_workspace(&self.0, &context, move |workspace, canceled| {
            workspace.find(&pattern, &path, canceled)
        });
        match found.await? {
            Err(error) => not_done(&error, context.language),
            Ok(listing) => {
                let count = listing.entries.len();
                let message = Text::FilesFound { count: &count }.text(context.language);
                Ok(listed(listing, message))
            }
        }
    }
}
