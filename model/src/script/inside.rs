//! The scripted model within the calling process, without HTTP or a provider's format. For tests of
//! agents without a server, and for measurements of everything but the model.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::stream;
use proto::{
    message::{ModelCall, StopReason, Usage},
    strict,
};
use serde_json::Value;

use super::{
    Script,
    conversation::Conversation,
    format::{DropDoc, FinishDoc, HangDoc},
    player::Player,
    reply::{Fault, Rendered},
};
use crate::{
    config::Timeouts,
    error::{ErrorKind, ModelError, Phase},
    port::{Delta, Model, ModelRequest, ModelStream},
};

/// A script as a [`Model`]. Nothing is retried: a fault of the script fails the call.
#[derive(Debug, Clone)]
pub struct ScriptModel {
    player: Arc<Player>,
    name: Arc<str>,
    timeouts: Timeouts,
}

impl ScriptModel {
    /// Plays a script under a model's name. If the script hangs, the call ends with a timeout.
    #[must_use]
    pub fn new(script: Script, name: &str, timeouts: Timeouts) -> Self {
        Self { player: Arc::new(Player::new(script)), name: name.into(), timeouts }
    }

    /// Creates a model that plays the same script from its beginning, without parsing it again.
    /// Clones, in contrast, share their progress.
    #[must_use]
    pub fn rewound(&self) -> Self {
        Self { player: Arc::new(self.player.rewound()), ..self.clone() }
    }
}

#[async_trait]
impl Model for ScriptModel {
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let number = self.player.request();
        let talk = Conversation::of(&request, &self.name);
        let (rendered, fault) = self.player.answer(&talk, number).map_err(|none| {
            self.player.missed(&none.message);
            ModelError::new(ErrorKind::InvalidRequest, "the script has no answer to this")
        })?;
        wait(rendered.pace.first_delay).await;
        let pace = rendered.pace.delay;
        let mut deltas = deltas(rendered, talk.model);
        let half = deltas.len().div_ceil(2);
        let broken = |kind, why| Some(ModelError::new(kind, why));
        let end = match fault {
            None => None,
            Some(Fault::Status { status, .. }) => return Err(refused(status)),
            Some(Fault::Drop(DropDoc::Start)) => return Err(dropped()),
            Some(Fault::Hang(HangDoc::FirstToken)) => {
                wait(self.timeouts.first_token()).await;
                return Err(ModelError::timeout(Phase::FirstToken));
            }
            Some(Fault::Hang(HangDoc::Idle)) => {
                wait(self.timeouts.idle()).await;
                Some(ModelError::timeout(Phase::Idle))
            }
            Some(Fault::Malformed) => {
                broken(ErrorKind::Malformed, "the script breaks off its reply")
            }
            Some(Fault::Cut) => broken(ErrorKind::CutStream, "the reply stopped without its end"),
            Some(Fault::Drop(DropDoc::Middle)) => Some(dropped()),
        };
        let items: Vec<Result<Delta, ModelError>> = match end {
            None => deltas.into_iter().map(Ok).collect(),
            Some(error) => {
                deltas.truncate(half);
                deltas.into_iter().map(Ok).chain([Err(error)]).collect()
            }
        };
        Ok(Box::pin(stream::unfold(
            (items.into_iter(), false),
            move |(mut items, paced)| async move {
                let next = items.next()?;
                if paced {
                    wait(pace).await;
                }
                Some((next, (items, true)))
            },
        )))
    }
}

async fn wait(duration: Duration) {
    if !duration.is_zero() {
        tokio::time::sleep(duration).await;
    }
}

fn dropped() -> ModelError {
    ModelError::new(ErrorKind::Unreachable, "the script drops the connection")
}

fn refused(status: u16) -> ModelError {
    let kind = match status {
        401 | 403 => ErrorKind::Auth,
        429 => ErrorKind::RateLimited,
        503 | 529 => ErrorKind::Overloaded,
        408 | 409 | 500..=599 => ErrorKind::ProviderFailed,
        _ => ErrorKind::InvalidRequest,
    };
    ModelError::new(kind, "the script asks for this error")
}

/// Converts a reply to a provider's sequence of deltas: text, calls, end.
fn deltas(reply: Rendered, model: String) -> Vec<Delta> {
    let mut deltas = Vec::with_capacity(3);
    if !reply.thought.is_empty() {
        deltas.push(Delta::Thought(reply.thought));
    }
    if !reply.text.is_empty() {
        deltas.push(Delta::Text(reply.text));
    }
    for call in reply.calls {
        // Invalid JSON arguments stay the model's text, as with every provider.
        let args = strict::value_from_slice(call.arguments.as_bytes());
        let args = args.unwrap_or(Value::String(call.arguments));
        deltas.push(Delta::Call(ModelCall { id: call.id, name: call.name, args }));
    }
    let stop = match reply.finish {
        FinishDoc::Stop => StopReason::End,
        FinishDoc::ToolCalls => StopReason::ToolCalls,
        FinishDoc::Length => StopReason::Length,
        FinishDoc::ContentFilter => StopReason::ContentFilter,
    };
    let usage = Usage::reported(reply.usage.input, reply.usage.output);
    deltas.push(Delta::End { usage, stop, model });
    deltas
}
