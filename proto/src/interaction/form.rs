//! Choices and the fields of forms, and the values that they take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::limits;

/// An option of a choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// Value in the answer.
    pub value: String,
    /// Text for users; the value when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Field {
    /// Key of the field in the answer.
    pub key: String,
    /// Label for users.
    pub label: String,
    /// Type of the field, with its bounds.
    #[serde(flatten)]
    pub input: Input,
    /// `true` if the field must be filled in.
    #[serde(default)]
    pub required: bool,
    /// Further explanation for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Initial value of the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// The types of a form's field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Input {
    /// A text.
    Text {
        /// Maximum length in characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_length: Option<u32>,
        /// Minimum length in characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_length: Option<u32>,
        /// `true` if the field has several lines.
        #[serde(default)]
        multiline: bool,
    },
    /// A number.
    Number {
        /// Minimum value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min: Option<f64>,
        /// Maximum value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<f64>,
        /// `true` if only whole numbers are valid.
        #[serde(default)]
        integer: bool,
    },
    /// A boolean.
    Boolean,
    /// A choice of one option, or of several.
    Select {
        /// Options of the choice.
        options: Vec<Choice>,
        /// `true` if several options may be chosen.
        #[serde(default)]
        multiple: bool,
    },
}

impl Input {
    /// Returns whether the field takes the value, by the same bounds as the schema of its form.
    #[must_use]
    pub fn takes(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Text { max_length, min_length, .. }, Value::String(text)) => {
                let length = text.chars().count();
                let within = |bound: &u32| usize::try_from(*bound).is_ok_and(|b| length <= b);
                let most = max_length.as_ref().map_or(length <= limits::ANSWER_BYTES_MAX, within);
                most && min_length.is_none_or(|least| u64::from(least) <= length as u64)
            }
            (Self::Number { min, max, integer }, Value::Number(number)) => {
                number.as_f64().is_some_and(|n| {
                    min.is_none_or(|min| min <= n)
                        && max.is_none_or(|max| n <= max)
                        && (!integer || n.fract() == 0.0)
                })
            }
            (Self::Boolean, Value::Bool(_)) => true,
            (Self::Select { options, multiple: false }, Value::String(chosen)) => {
                options.iter().any(|option| option.value == *chosen)
            }
            (Self::Select { options, multiple: true }, Value::Array(chosen)) => {
                let offered = |value: &Value| options.iter().any(|o| *value == *o.value);
                let twice = |(n, value): (usize, &Value)| chosen.iter().take(n).any(|v| v == value);
                !chosen.is_empty()
                    && chosen.iter().all(offered)
                    && !chosen.iter().enumerate().any(twice)
            }
            (
                Self::Text { .. } | Self::Number { .. } | Self::Boolean | Self::Select { .. },
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Array(_)
                | Value::Object(_),
            ) => false,
        }
    }

    /// Returns the JSON Schema of the field's value.
    pub(super) fn schema(&self, required: bool) -> Value {
        match self {
            Self::Text { max_length, min_length, .. } => {
                let least = min_length.unwrap_or(0).max(u32::from(required));
                let bound = u32::try_from(limits::ANSWER_BYTES_MAX).unwrap_or(u32::MAX);
                json!({"type": "string", "minLength": least, "maxLength": max_length.unwrap_or(bound)})
            }
            Self::Number { min, max, integer } => {
                let mut schema = json!({"type": if *integer { "integer" } else { "number" }});
                if let Some(min) = min {
                    schema["minimum"] = json!(min);
                }
                if let Some(max) = max {
                    schema["maximum"] = json!(max);
                }
                schema
            }
            Self::Boolean => json!({"type": "boolean"}),
            Self::Select { options, multiple } => select_schema(options, *multiple),
        }
    }
}

/// Returns the JSON Schema of a choice.
pub(super) fn select_schema(options: &[Choice], multiple: bool) -> Value {
    let values: Vec<_> = options.iter().map(|o| o.value.as_str()).collect();
    if multiple {
        json!({"type": "array", "items": {"enum": values}, "uniqueItems": true, "minItems": 1})
    } else {
        json!({"enum": values})
    }
}
