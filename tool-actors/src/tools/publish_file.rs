//! `publish_file`: makes a file of the workspace an artifact of the job.

use async_trait::async_trait;
use proto::{
    file::FileName,
    limits::{FILE_BYTES_MAX, FILE_NAME_BYTES_MAX},
    tool::{Effect, ToolResult, ToolSpec},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{About, Text, not_done, on_workspace, optional, path_schema, read, required, spec};
use crate::{
    tool::{CallContext, Tool, ToolFault},
    workspace::Workspaces,
};

/// The tool `publish_file` on the job's workspace.
#[derive(Debug, Clone)]
pub struct PublishFile(pub Workspaces);

#[derive(Deserialize)]
struct Args {
    path: String,
    name: Option<String>,
}

#[async_trait]
impl Tool for PublishFile {
    fn spec(&self) -> ToolSpec {
        let name = json!({"type": "string", "minLength": 1, "maxLength": FILE_NAME_BYTES_MAX});
        let arguments = [
            required("path", About::PublishPath, path_schema()),
            optional("name", About::PublishName, name),
        ];
        // The content is stored by its digest, and the job has that of the attempt that counts.
        spec("publish_file", About::PublishFile, Effect::Idempotent, &arguments)
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { path, name } = read(args)?;
        let name = name.unwrap_or_else(|| path.rsplit('/').next().unwrap_or(&path).to_owned());
        let Some(name) = FileName::new(&*name).ok().filter(|it| !matches!(it.as_str(), "." | ".."))
        else {
            let why = Text::FileName { name: &name, max: &FILE_NAME_BYTES_MAX };
            return Ok(ToolResult::failed(why.text(context.language)));
        };
        if context.files.list().await?.iter().any(|file| file.name == name) {
            let why = Text::FileNameTaken { name: &name };
            return Ok(ToolResult::failed(why.text(context.language)));
        }
        let at = path.clone();
        let content = on_workspace(&self.0, &context, move |workspace, canceled| {
            workspace.read_whole(&at, FILE_BYTES_MAX, canceled)
        });
        let content = match content.await? {
            Ok(content) => content,
            Err(error) => return not_done(&error, context.language),
        };
        let media_type = mime_guess::from_path(name.as_str()).first().map(|it| it.to_string());
        let file = context.files.store(name, media_type, content).await?;
        let published = json!({
            "path": path,
            "name": file.name,
            "media_type": file.media_type,
            "bytes": file.bytes(),
        });
        let (name, bytes) = (&file.name, &file.bytes().unwrap_or_default());
        let message = Text::FilePublished { name, bytes }.text(context.language);
        context.artifacts.add(file);
        Ok(ToolResult::ok(published).with_message(message))
    }
}
