//! The events of a reply, common to all providers.

use std::pin::Pin;

use futures::Stream;
use proto::message::{ModelCall, StopReason};
use serde_json::Value;

use crate::error::{ErrorKind, ModelError};

/// The events of one attempt. A stream that ends without [`Event::End`] was cut.
pub(super) type Events = Pin<Box<dyn Stream<Item = Result<Event, ModelError>> + Send>>;

/// An event of a reply.
#[derive(Debug)]
pub(super) enum Event {
    /// Text of the reply.
    Text(String),
    /// Text of the model's reasoning.
    Thought(String),
    /// Progress of the tool calls: the number of their bytes so far.
    Calls(usize),
    /// The end of the reply.
    End(End),
}

/// The end of a reply.
#[derive(Debug)]
pub(super) struct End {
    pub(super) stop: StopReason,
    pub(super) calls: Vec<ModelCall>,
    /// Parts that only the same model reads.
    pub(super) opaque: Vec<Value>,
    pub(super) counted: Counted,
    /// Name of the model that answered, if the provider reports it.
    pub(super) model: Option<String>,
}

/// Token counts of a provider; absent where it reports none, or none that can be true.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) input: Option<u64>,
    pub(super) output: Option<u64>,
    /// The part of `input` that the provider had in its cache.
    pub(super) cached: Option<u64>,
    /// The part of `input` that the provider wrote to its cache, for a price of its own.
    pub(super) written: Option<u64>,
}

impl Counted {
    /// Fills absent counts from another report.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            input: self.input.or(other.input),
            output: self.output.or(other.output),
            cached: self.cached.or(other.cached),
            written: self.written.or(other.written),
        }
    }
}

/// Returns the stop reason for a word of a provider.
pub(super) fn stop(word: Option<&str>) -> Result<StopReason, ModelError> {
    match word.unwrap_or_default().to_ascii_lowercase().as_str() {
        // An end without a reason is an end nevertheless.
        "" | "stop" | "end_turn" | "eos" | "eos_token" | "stop_token" | "stop_sequence" => {
            Ok(StopReason::End)
        }
        "length" | "max_tokens" | "model_context_window_exceeded" => Ok(StopReason::Length),
        "tool_calls" | "tool_use" | "function_call" => Ok(StopReason::ToolCalls),
        "content_filter"
        | "refusal"
        | "safety"
        | "recitation"
        | "language"
        | "blocklist"
        | "prohibited_content"
        | "spii"
        | "image_safety"
        | "image_prohibited_content"
        | "image_recitation" => Ok(StopReason::ContentFilter),
        "insufficient_system_resource" => {
            Err(ModelError::new(ErrorKind::Overloaded, "the model provider is overloaded"))
        }
        _ => Err(ModelError::new(
            ErrorKind::Malformed,
            "the reply ended for a reason this program does not know",
        )),
    }
}

pub(super) const fn cut() -> ModelError {
    ModelError::new(ErrorKind::CutStream, "the reply stopped without its end")
}

pub(super) const fn refused() -> ModelError {
    ModelError::new(ErrorKind::Refused, "the model refused, or a content filter withheld the reply")
}

pub(super) const fn bad_calls() -> ModelError {
    ModelError::new(
        ErrorKind::Malformed,
        "the reply's tool calls are not in the provider's own format",
    )
}

pub(super) const fn too_large() -> ModelError {
    ModelError::new(ErrorKind::TooLarge, "the reply is larger than allowed (max_reply_bytes)")
}
