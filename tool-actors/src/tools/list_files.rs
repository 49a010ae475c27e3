//! `list_files`: lists a directory of the workspace.

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::Value;

use super::{About, Text, directory, listed, not_done, on_workspace, read, spec};
use crate::{
    tool::{CallContext, Tool, ToolFault},
    workspace::Workspaces,
};

/// The tool `list_files` on the job's workspace.
#[derive(Debug, Clone)]
pub struct ListFiles(pub Workspaces);

#[derive(Deserialize)]
struct Args {
    #[serde(default)]
    path: String,
}

#[async_trait]
impl Tool for ListFiles {
    fn spec(&self) -> ToolSpec {
        spec("list_files", About::ListFiles, Effect::Pure, &[directory()])
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { path } = read(args)?;
        let found = on_workspace(&self.0, &context, move |workspace, _| workspace.list(&path));
        match found.await? {
            Err(error) => not_done(&error, context.language),
            Ok(listing) => {
                let count = listing.entries.len();
                let message = Text::FilesListed { count: &count }.text(context.language);
                Ok(listed(listing, message))
            }
        }
    }
}
