//! The browser's tools behind the interface of tools: arguments in, requests to the port, results out.

use std::sync::Arc;

use async_trait::async_trait;
use proto::{
    file::FileName,
    lang::Language,
    tool::{Effect, Fault, ToolResult, ToolSpec},
};
use serde_json::Value;
use tool_actors::{CallContext, Tool, ToolFault};

use crate::{
    answer,
    arguments::{InvalidArguments, request},
    desk::{AskError, Asking, Desk},
    request::Picture,
    specs::Kind,
    words::Text,
};

/// A tool of the browser.
#[derive(derive_more::Debug)]
#[debug("BrowserTool({kind:?})")]
struct BrowserTool {
    kind: Kind,
    desk: Arc<dyn Desk>,
    timeout_ms: u64,
}

/// Creates the tools of the browser on a port. `timeout_ms` is the longest load of a page.
#[must_use]
pub fn tools(desk: &Arc<dyn Desk>, timeout_ms: u64) -> Vec<Arc<dyn Tool>> {
    let tool = |kind: &Kind| {
        let desk = Arc::clone(desk);
        Arc::new(BrowserTool { kind: *kind, desk, timeout_ms }) as Arc<dyn Tool>
    };
    <Kind as strum::VariantArray>::VARIANTS.iter().map(tool).collect()
}

#[async_trait]
impl Tool for BrowserTool {
    fn spec(&self) -> ToolSpec {
        self.kind.spec(self.timeout_ms)
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let language = context.language;
        let request = request(self.kind, args);
        let request = request.map_err(|InvalidArguments(why)| ToolFault::invalid(why))?;
        let asking = Asking {
            job: &context.job,
            work: &context.work,
            attempt: context.attempt,
            hosts: context.hosts.as_ref(),
            canceled: &context.canceled,
        };
        match self.desk.ask(asking, request).await {
            Ok(reply) => {
                let stored = match &reply.picture {
                    Some(picture) => Some(store(&context, picture).await?),
                    None => None,
                };
                Ok(answer::of(&reply, stored.as_ref(), language))
            }
            Err(error) => not_done(self.kind, error, language),
        }
    }
}

/// Stores a picture as a file of the job. Attempts of one call give it the same name.
async fn store(context: &CallContext, picture: &Picture) -> Result<answer::Stored, ToolFault> {
    let name = format!("screenshot-{}.jpg", context.work);
    let name = FileName::new(&*name).map_err(|error| ToolFault::internal(error.to_string()))?;
    let media_type = Some("image/jpeg".to_owned());
    let file = context.files.store(name.clone(), media_type, picture.jpeg.clone()).await?;
    context.artifacts.add(file);
    Ok(answer::Stored { name, bytes: picture.jpeg.len() })
}

/// Converts a failed request: what a model can act upon is a result, anything else a fault.
fn not_done(kind: Kind, error: AskError, language: Language) -> Result<ToolResult, ToolFault> {
    match error {
        AskError::NoHost => Err(ToolFault::unavailable(Text::NoHost.text(language))),
        AskError::Unfinished => match kind.effect() {
            Effect::Once => Err(ToolFault::new(Fault::Unknown, Text::Unfinished.text(language))),
            // Its host may be stopping. A page that is opened again begins a new session.
            Effect::Idempotent => Err(ToolFault::unavailable(Text::Unfinished.text(language))),
            Effect::Pure => Ok(ToolResult::failed(Text::Unfinished.text(language))),
        },
        AskError::Refused(refusal) => Ok(ToolResult::failed(refusal.text(language))),
        AskError::Lost { may_have_begun } => match kind.effect() {
            Effect::Once if may_have_begun => {
                Err(ToolFault::new(Fault::Unknown, Text::LostUnknown.text(language)))
            }
            // A page that is opened again begins a new session.
            Effect::Idempotent => Err(ToolFault::unavailable(Text::Lost.text(language))),
            Effect::Once | Effect::Pure => Ok(ToolResult::failed(Text::Lost.text(language))),
        },
    }
}

#[cfg(test)]
mod tests;
