//! The questions of agents, before the machine gives them an id and a deadline.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::interaction::{Choice, Field};

/// A question of an agent. The machine adds the id and the deadline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Asked {
    /// Text of the question.
    pub prompt: String,
    /// Kind of answer that the question takes.
    #[serde(flatten)]
    pub kind: AskedKind,
    /// Answer that counts when the question expires; without it the question has no default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// The kinds of answer to an agent's question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum AskedKind {
    /// A free text.
    Query,
    /// A choice from a list.
    Select {
        /// Choices of the list.
        options: Vec<Choice>,
        /// `true` if the answer may have several choices.
        #[serde(default)]
        multiple: bool,
    },
    /// A filled-in form.
    Form {
        /// Fields of the form.
        fields: Vec<Field>,
    },
}
