//! The texts that are evaluated when a job takes a decision.

use derive_more::Display;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An expression in the syntax of Jinja, without braces: `state.score >= 8`.
///
/// The checker makes expressions; those of a log have passed it. Only the evaluator reads the text.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema, Display,
)]
#[serde(transparent)]
pub struct Expression(String);

impl Expression {
    /// Wraps a text that the checker has accepted.
    #[must_use]
    pub fn checked(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the source text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A JSON value whose texts, at any depth, are templates: `"Which kind is this? {{ input.ticket }}"`.
///
/// A text that consists of one expression in braces becomes the value of the expression, with its
/// type. Other texts become texts. Names of fields and values of other types stay as they are.
///
/// The checker makes templates; those of a log have passed it. Only the evaluator reads the texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct TemplateValue(Value);

impl TemplateValue {
    /// Wraps a value whose texts the checker has accepted.
    #[must_use]
    pub fn checked(value: impl Into<Value>) -> Self {
        Self(value.into())
    }

    /// Returns the value before evaluation.
    #[must_use]
    pub fn as_value(&self) -> &Value {
        &self.0
    }
}
