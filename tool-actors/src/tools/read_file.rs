//! `read_file`: reads a text file beneath the workspace.

use std::num::NonZeroUsize;

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    About, Text, not_done, on_workspace, optional, path_schema, read, required, spec, text,
};
use crate::{
    tool::{CallContext, Tool, ToolFault},
    workspace::{Lines, Workspaces},
};

/// The tool `read_file` on the job's workspace.
#[derive(Debug, Clone)]
pub struct ReadFile(pub Workspaces);

/// Lines that a call reads that names the first one only.
const LINES: usize = 2_000;

#[derive(Deserialize)]
struct Args {
    path: String,
    from_line: Option<NonZeroUsize>,
    lines: Option<NonZeroUsize>,
}

impl Args {
    /// Returns the lines to read; `None` for the beginning of the file.
    fn range(&self) -> Option<Lines> {
        let Self { path: _, from_line, lines } = self;
        (from_line.is_some() || lines.is_some()).then_some(Lines {
            from: from_line.unwrap_or(NonZeroUsize::MIN),
            count: lines.map_or(LINES, NonZeroUsize::get),
        })
    }
}

#[async_trait]
impl Tool for ReadFile {
    fn spec(&self) -> ToolSpec {
        let arguments = [
            required("path", About::ReadPath, path_schema()),
            optional("from_line", About::ReadFrom, json!({"type": "integer", "minimum": 1})),
            optional("lines", About::ReadLines, json!({"type": "integer", "minimum": 1})),
        ];
        spec("read_file", About::ReadFile, Effect::Pure, &arguments)
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let args: Args = read(args)?;
        let (range, at) = (args.range(), args.path.clone());
        let content = on_workspace(&self.0, &context, move |workspace, canceled| match range {
            None => workspace.read(&at),
            Some(lines) => workspace.read_lines(&at, lines, canceled),
        });
        let path = args.path;
        match content.await? {
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
