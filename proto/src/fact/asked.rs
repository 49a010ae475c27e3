//! Questions as agents ask them. Nothing here gives them an id or a deadline: the machine does.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::interaction::{Choice, Field};

/// A question as an agent asks it; the machine gives it an id and a deadline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// What is asked.
    pub prompt: String,
    /// How it can be answered.
    #[serde(flatten)]
    pub kind: AskedKind,
    /// What counts as the answer when nobody answers in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// How an agent's question can be answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum AskedKind {
    /// With a text.
    Query,
    /// By choosing.
    Select {
        /// What can be chosen.
        options: Vec<Choice>,
        /// Whether more than one may be chosen.
        #[serde(default)]
        multiple: bool,
    },
    /// By filling in a form.
    Form {
        /// Its fields.
        fields: Vec<Field>,
    },
}
