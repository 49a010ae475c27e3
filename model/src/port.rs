//! The port: what a model is asked and how it answers.
//!
//! Nothing here knows a provider.

use std::pin::Pin;

use async_trait::async_trait;
use futures::Stream;
use proto::{
    budget::Price,
    message::{Message, ModelCall, StopReason, ToolOffer, Usage},
};

use crate::error::ModelError;

/// The bound on one reply when nothing else is configured: 1 MiB of text, thought and arguments.
pub const DEFAULT_MAX_REPLY_BYTES: usize = 1024 * 1024;

/// A language model.
#[async_trait]
pub trait Model: Send + Sync {
    /// Asks the model and returns its reply as it comes.
    ///
    /// Returns once the reply has begun: whatever fails before that was retried as configured.
    /// Dropping the stream ends the call at the provider.
    ///
    /// # Errors
    /// Any [`ModelError`]; the stream's items may be errors too, and the first one is its last item.
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError>;

    /// The largest reply [`crate::complete`] accepts, in bytes of text, thought and arguments.
    fn max_reply_bytes(&self) -> usize {
        DEFAULT_MAX_REPLY_BYTES
    }

    /// The number of a text's tokens for this model. The default is an [`crate::estimate`] on the
    /// high side; a model with its vocabulary at hand may count.
    fn count_tokens(&self, text: &str) -> usize {
        crate::estimate(text)
    }

    /// Tokens that a conversation may have with the model that is asked by this name, the reply not
    /// included; by none: with the configured one. Unknown when absent.
    fn context_tokens(&self, model: Option<&str>) -> Option<u32> {
        let _ = model;
        None
    }

    /// The prices of the model with this name; absent if unknown.
    fn price(&self, model: Option<&str>) -> Option<Price> {
        let _ = model;
        None
    }
}

/// The reply as it comes: deltas, closed by [`Delta::End`]. A stream that ends without it was cut.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<Delta, ModelError>> + Send>>;

/// A request to a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelRequest {
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// The tools the model may call.
    pub tools: Vec<ToolOffer>,
    /// The settings of the answer.
    pub params: Params,
}

/// The settings of an answer. A request leaves out settings that its provider does not support.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// The model's name, in place of the configured one.
    pub model: Option<String>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// The most tokens to write, in place of the configured bound.
    pub max_tokens: Option<u32>,
    /// Ask for a JSON reply where the provider has such a mode. Never a promise: parse strictly.
    pub json: bool,
    /// Allow several tool calls in one reply. Providers without such a switch (Gemini, Ollama) may
    /// make several anyway.
    pub parallel_tool_calls: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            model: None,
            temperature: None,
            top_p: None,
            max_tokens: None,
            json: false,
            parallel_tool_calls: true,
        }
    }
}

/// One piece of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// Words of the reply.
    Text(String),
    /// Words of the model's reasoning, for show only.
    Thought(String),
    /// A complete tool call. Arguments that are not JSON arrive as a JSON string that holds
    /// exactly what the model wrote, so that schema validation refuses them and can say why.
    Call(ModelCall),
    /// The end of the reply; nothing follows.
    End {
        /// Its usage; zeros if the provider does not report it.
        usage: Usage,
        /// Why the model stopped.
        stop: StopReason,
        /// The model that answered, as the provider names it.
        model: String,
    },
}
