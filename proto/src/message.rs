//! What is said to and by a language model: messages, tool calls and usage.
//!
//! Provider formats are translated to and from these types in the `model` crate and nowhere else.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message of a conversation with a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// Instructions that frame the conversation.
    System {
        /// The text, in the job's language.
        text: String,
    },
    /// What a person or the job says.
    User {
        /// The text.
        text: String,
    },
    /// What the model said: words, tool calls or both.
    Assistant {
        /// The words; empty when the model only called tools.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// The calls it asked for, in its order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ModelCall>,
    },
    /// The result of one tool call, answering it by id.
    Tool {
        /// The id of the [`ModelCall`] this answers.
        call: String,
        /// The name of the tool that was called.
        name: String,
        /// The result as text; JSON results are written as compact JSON.
        text: String,
    },
}

/// A tool call as the model asked for it: not yet validated against anything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    /// The provider's id for this call; unique within one reply.
    pub id: String,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments, parsed from the model's JSON.
    pub args: Value,
}

/// A tool as it is offered to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolOffer {
    /// The name the model calls it by.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub schema: Value,
}

/// Tokens a model call consumed, as the provider counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}

impl Usage {
    /// Whether there was none.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// What is left when some of it is taken away; nothing is less than none.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_sub(other.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(other.output_tokens),
        }
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
    }
}

/// Why the model stopped talking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had said what it wanted to say.
    End,
    /// It wants tools to be called.
    ToolCalls,
    /// It ran into the token limit: the reply is cut and must not be acted upon.
    Length,
    /// The provider withheld the reply.
    ContentFilter,
}
