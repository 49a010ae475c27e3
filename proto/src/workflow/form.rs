//! The fields of the form that a `human` node shows.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Key, TemplateValue};
use crate::interaction::{Field, Input};

/// A field of the form of a `human` node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FormField {
    /// Key of the field in the answer.
    pub key: Key,
    /// Label for users.
    pub label: String,
    /// Type of the field, with its bounds.
    pub input: Input,
    /// `true` if the field must be filled in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// Further explanation for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Initial value of the field, evaluated when the node is entered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<TemplateValue>,
}

impl FormField {
    /// Returns the field of the question that people see, with the evaluated initial value.
    #[must_use]
    pub fn field(&self, default: Option<Value>) -> Field {
        let Self { key, label, input, required, description, default: _ } = self;
        Field {
            key: key.to_string(),
            label: label.clone(),
            input: input.clone(),
            required: *required,
            description: description.clone(),
            default,
        }
    }
}
