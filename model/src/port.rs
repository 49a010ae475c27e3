//! The interface of language models: requests and replies, independent of any provider.

use std::pin::Pin;

use async_trait::async_trait;
use futures::Stream;
use proto::{
    budget::Price,
    effort::Effort,
    fallback::{Fallback, FellBack},
    message::{Message, ModelCall, StopReason, ToolOffer, Usage},
    opaque::Opaque,
    wire::LiveUpdate,
};
use serde_json::Value;

use crate::error::ModelError;

/// Default limit on a reply: 1 MiB of text, reasoning and arguments.
pub const DEFAULT_MAX_REPLY_BYTES: usize = 1024 * 1024;

/// A language model.
#[async_trait]
pub trait Model: Send + Sync {
    /// Calls the model and streams its reply.
    ///
    /// Returns once the reply has started; earlier failures have been retried as configured.
    /// Dropping the stream cancels the call at the provider.
    ///
    /// # Errors
    /// Any [`ModelError`]. The stream may yield errors too, and ends after the first one.
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError>;

    /// Returns the largest reply that [`crate::complete`] accepts, in bytes of text, reasoning and
    /// arguments.
    fn max_reply_bytes(&self) -> usize {
        DEFAULT_MAX_REPLY_BYTES
    }

    /// Counts the tokens of a text. The default is [`crate::estimate`], which tends to be too high;
    /// a model with a local vocabulary may count exactly.
    fn count_tokens(&self, text: &str) -> usize {
        crate::estimate(text)
    }

    /// Returns the largest conversation in tokens, without the reply, of the named or else the
    /// configured model. `None` if unknown.
    fn context_tokens(&self, model: Option<&str>) -> Option<u32> {
        let _ = model;
        None
    }

    /// Returns the price of the named or else the configured model; `None` if unknown.
    fn price(&self, model: Option<&str>) -> Option<Price> {
        let _ = model;
        None
    }
}

/// A streamed reply: deltas that end with [`Delta::End`]. A stream without this end was cut.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<Delta, ModelError>> + Send>>;

/// A request to a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelRequest {
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// Tools that the model may call.
    pub tools: Vec<ToolOffer>,
    /// Settings of the reply.
    pub params: Params,
}

/// Settings of a reply. Those that a provider does not support are omitted from its requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// Name of the model; absent for the configured one.
    pub model: Option<String>,
    /// Models to ask, in this order, if the model does not answer: see [`crate::complete`].
    pub fallback: Vec<Fallback>,
    /// Models that were passed over so far, because the conversation exceeds their context.
    pub fell_back: Vec<FellBack>,
    /// Sampling temperature; absent for the configured one.
    pub temperature: Option<f64>,
    /// Nucleus sampling; absent for the configured one.
    pub top_p: Option<f64>,
    /// Effort of the reasoning; absent for the configured one.
    pub effort: Option<Effort>,
    /// Largest number of tokens in the reply; absent for the configured limit.
    pub max_tokens: Option<u32>,
    /// Requests a JSON reply from providers with such a mode. No guarantee: parse strictly.
    pub json: bool,
    /// JSON Schema of the reply, for providers that can be held to one. No guarantee: parse strictly.
    pub schema: Option<Value>,
    /// Permits several tool calls in one reply. Providers without this setting (Gemini, Ollama) may
    /// make several anyway.
    pub parallel_tool_calls: bool,
    /// Accepts the reply to an equal, earlier request at temperature zero from a [cache]. A sender
    /// that wants another reply than before leaves this unset.
    ///
    /// [cache]: crate::CachedModel
    pub may_be_cached: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            model: None,
            fallback: Vec::new(),
            fell_back: Vec::new(),
            temperature: None,
            top_p: None,
            effort: None,
            max_tokens: None,
            json: false,
            schema: None,
            parallel_tool_calls: true,
            may_be_cached: false,
        }
    }
}

/// A piece of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// Text of the reply.
    Text(String),
    /// Text of the model's reasoning, for display only.
    Thought(String),
    /// A complete tool call. Arguments that are not JSON arrive as a JSON string with exactly the
    /// model's text, so that schema validation rejects them with a reason.
    Call(ModelCall),
    /// The parts of the reply that only the same model reads; right before the end, if there are
    /// any.
    Opaque(Opaque),
    /// The end of the reply, always the last piece.
    End {
        /// Tokens of the call; zeros if the provider does not report them.
        usage: Usage,
        /// Reason for the end.
        stop: StopReason,
        /// Name of the model that answered, as the provider reports it.
        model: String,
    },
}

impl Delta {
    /// Converts the delta to a live update; `None` for tool calls and the end.
    #[must_use]
    pub fn update(&self) -> Option<LiveUpdate> {
        match self {
            Self::Text(text) => Some(LiveUpdate::Text(text.clone())),
            Self::Thought(text) => Some(LiveUpdate::Thought(text.clone())),
            Self::Call(_) | Self::Opaque(_) | Self::End { .. } => None,
        }
    }
}
