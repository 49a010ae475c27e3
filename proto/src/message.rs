//! The conversation with a language model: messages, tool calls and usage.
//!
//! The `model` crate alone translates these types to and from the formats of providers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::opaque::Opaque;

/// A message of a conversation with a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// Instructions for the whole conversation.
    System {
        /// Text, in the job's language.
        text: String,
    },
    /// A message of a user or of the job.
    User {
        /// Text of the message.
        text: String,
    },
    /// A message of the model: text, tool calls or both.
    Assistant {
        /// Text; empty when the model only called tools.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// Calls, in the model's order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ModelCall>,
        /// Parts of the reply that only the same model reads.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    /// The result of a tool call.
    Tool {
        /// Id of the [`ModelCall`] that the result belongs to.
        call: String,
        /// Name of the tool.
        name: String,
        /// Result as text; a JSON result is compact JSON.
        text: String,
    },
}

/// A tool call as the model wrote it, not yet validated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModelCall {
    /// Id that the provider gave the call; unique within one reply.
    pub id: String,
    /// Name of the tool, as the model wrote it.
    pub name: String,
    /// Arguments, parsed from the model's JSON.
    pub args: Value,
}

/// A tool as it is offered to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolOffer {
    /// Name by which the model calls the tool.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub schema: Value,
}

/// The tokens of model calls.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Usage {
    /// Tokens of the prompt.
    pub input_tokens: u64,
    /// Those of them that the provider had in its cache, as far as it reports them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_tokens: u64,
    /// Those of them that the provider wrote to its cache, where it counts and charges them apart.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub written_tokens: u64,
    /// Tokens of the reply.
    pub output_tokens: u64,
    /// `true` if the provider did not report some of the tokens, and Callboard estimated them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl Usage {
    /// Creates the usage that a provider reported.
    #[must_use]
    pub const fn reported(input_tokens: u64, output_tokens: u64) -> Self {
        let (cached_tokens, written_tokens) = (0, 0);
        Self { input_tokens, cached_tokens, written_tokens, output_tokens, estimated: false }
    }

    /// Returns whether no token was used.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the difference to `other`, with 0 as the least value.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self {
            estimated: self.estimated,
            input_tokens: self.input_tokens.saturating_sub(other.input_tokens),
            cached_tokens: self.cached_tokens.saturating_sub(other.cached_tokens),
            written_tokens: self.written_tokens.saturating_sub(other.written_tokens),
            output_tokens: self.output_tokens.saturating_sub(other.output_tokens),
        }
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.written_tokens = self.written_tokens.saturating_add(other.written_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.estimated = self.estimated || other.estimated;
    }
}

fn is_zero(tokens: &u64) -> bool {
    *tokens == 0
}

/// The reason why the model ended its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The reply is complete.
    End,
    /// The model calls tools.
    ToolCalls,
    /// The reply reached the token limit. It is incomplete and must not be used.
    Length,
    /// The provider withheld the reply.
    ContentFilter,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_of_caches_are_summed_and_written_where_there_are_any() {
        let mut sum = Usage { cached_tokens: 4, ..Usage::reported(5, 1) };
        sum += Usage { cached_tokens: 2, written_tokens: 3, ..Usage::reported(5, 0) };
        let written = json!({
            "input_tokens": 10, "cached_tokens": 6, "written_tokens": 3, "output_tokens": 1
        });
        assert_eq!(json!(sum), written);
        assert_eq!(serde_json::from_value::<Usage>(written).unwrap(), sum);
        let rest = sum.without(Usage::reported(10, 1));
        assert_eq!((rest.cached_tokens, rest.written_tokens), (6, 3));
    }

    #[test]
    fn a_sum_with_an_estimated_part_is_estimated() {
        let mut sum = Usage::reported(5, 1);
        assert_eq!(json!(sum), json!({"input_tokens": 5, "output_tokens": 1}));
        sum += Usage { estimated: true, ..Usage::reported(2, 1) };
        sum += Usage::reported(1, 1);
        assert_eq!(json!(sum), json!({"input_tokens": 8, "output_tokens": 3, "estimated": true}));
        assert_eq!(serde_json::from_value::<Usage>(json!(sum)).unwrap(), sum);
    }
}
