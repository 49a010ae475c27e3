//! The reducers: how a written value and the present one make the new value of a state key.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::lang::{Language, Words};

messages::texts!(workflow_reduce);

/// The combination of a written value with the present one.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Reducer {
    /// The written value.
    #[default]
    Replace,
    /// The list with the written value as its last item.
    Append,
    /// The list with the items of the written list after its own.
    Extend,
    /// The object with the fields of the written object in place of its own; not deep.
    Merge,
    /// The list with those items of the written list that it lacks.
    Union,
    /// The sum of the numbers.
    Sum,
    /// The smaller number.
    Min,
    /// The larger number.
    Max,
}

impl Reducer {
    /// Returns the word in workflow files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A written value that cannot be combined with the present one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub enum ReduceError {
    /// The written value does not have the type that the reducer takes.
    Written {
        /// Reducer of the key.
        reducer: Reducer,
        /// Type of the written value.
        got: JsonType,
    },
    /// The present value does not have the type that the reducer takes.
    Present {
        /// Reducer of the key.
        reducer: Reducer,
        /// Type of the present value.
        got: JsonType,
    },
    /// The sum is no number of JSON.
    Overflow,
}

/// The types of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum JsonType {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// A text.
    String,
    /// A list.
    Array,
    /// An object.
    Object,
}

impl JsonType {
    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    fn as_str(self) -> &'static str {
        self.into()
    }
}

impl ReduceError {
    fn text(&self, language: Language) -> String {
        let text = match self {
            Self::Written { reducer, got } => {
                return Text::Written { reducer: &reducer.as_str(), got: &got.as_str() }
                    .text(language);
            }
            Self::Present { reducer, got } => {
                return Text::Present { reducer: &reducer.as_str(), got: &got.as_str() }
                    .text(language);
            }
            Self::Overflow => Text::Overflow,
        };
        text.text(language)
    }

    /// Returns the reason for users.
    #[must_use]
    pub fn words(&self) -> Words {
        Words::new(|language| self.text(language))
    }
}

/// Returns the new value of a key. `old` is absent before the first write of a key without an
/// initial value; lists and objects then begin empty, and numbers with the written one.
///
/// The function is pure and total, so a fold may call it.
///
/// # Errors
/// Fails when one of the values does not have the type that the reducer takes, or when a sum is out
/// of range.
pub fn apply(reducer: Reducer, old: Option<&Value>, new: Value) -> Result<Value, ReduceError> {
    match reducer {
        Reducer::Replace => Ok(new),
        Reducer::Append => {
            let mut items = present_list(reducer, old)?;
            items.push(new);
            Ok(Value::Array(items))
        }
        Reducer::Extend => {
            let mut items = present_list(reducer, old)?;
            items.extend(written_list(reducer, new)?);
            Ok(Value::Array(items))
        }
        Reducer::Union => {
            let mut items = present_list(reducer, old)?;
            for item in written_list(reducer, new)? {
                if !items.contains(&item) {
                    items.push(item);
                }
            }
            Ok(Value::Array(items))
        }
        Reducer::Merge => {
            let mut fields = match old {
                None => Map::new(),
                Some(Value::Object(fields)) => fields.clone(),
                Some(other) => return Err(present(reducer, other)),
            };
            let Value::Object(new) = new else { return Err(written(reducer, &new)) };
            fields.extend(new);
            Ok(Value::Object(fields))
        }
        Reducer::Sum | Reducer::Min | Reducer::Max => {
            let Value::Number(new) = new else { return Err(written(reducer, &new)) };
            match old {
                None => Ok(Value::Number(new)),
                Some(Value::Number(old)) => number(reducer, old, &new).map(Value::Number),
                Some(other) => Err(present(reducer, other)),
            }
        }
    }
}

fn number(reducer: Reducer, old: &Number, new: &Number) -> Result<Number, ReduceError> {
    if reducer == Reducer::Sum {
        return sum(old, new);
    }
    let order = match (old.as_i128(), new.as_i128()) {
        (Some(old), Some(new)) => old.cmp(&new),
        _ => float(old).total_cmp(&float(new)),
    };
    let takes_old = if reducer == Reducer::Min { order.is_le() } else { order.is_ge() };
    Ok(if takes_old { old.clone() } else { new.clone() })
}

fn sum(old: &Number, new: &Number) -> Result<Number, ReduceError> {
    match (old.as_i128(), new.as_i128()) {
        (Some(old), Some(new)) => {
            let sum = old.checked_add(new).ok_or(ReduceError::Overflow)?;
            let whole = i64::try_from(sum).map(Number::from);
            whole
                .or_else(|_| u64::try_from(sum).map(Number::from))
                .map_err(|_| ReduceError::Overflow)
        }
        _ => Number::from_f64(float(old) + float(new)).ok_or(ReduceError::Overflow),
    }
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or_default()
}

fn present_list(reducer: Reducer, old: Option<&Value>) -> Result<Vec<Value>, ReduceError> {
    match old {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) => Ok(items.clone()),
        Some(other) => Err(present(reducer, other)),
    }
}

fn written_list(reducer: Reducer, new: Value) -> Result<Vec<Value>, ReduceError> {
    match new {
        Value::Array(items) => Ok(items),
        other @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Object(_)) => Err(written(reducer, &other)),
    }
}

fn written(reducer: Reducer, value: &Value) -> ReduceError {
    ReduceError::Written { reducer, got: JsonType::of(value) }
}

fn present(reducer: Reducer, value: &Value) -> ReduceError {
    ReduceError::Present { reducer, got: JsonType::of(value) }
}
