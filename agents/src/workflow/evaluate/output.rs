//! The conversion of the engine's values to JSON, within the bound of outputs.

use minijinja::value::{Value as Engine, ValueKind};
use proto::limits::JSON_DEPTH_MAX;
use serde_json::{Map, Number, Value};

use super::{bounds::OUTPUT_BYTES_MAX, error::EvalFault};

/// Converts a value.
///
/// # Errors
/// Fails when a part is undefined or has no form in JSON, or when the whole is too large.
pub(super) fn json(value: &Engine) -> Result<Value, EvalFault> {
    let mut left = OUTPUT_BYTES_MAX;
    inner(value, &mut left, 0)
}

/// Returns the approximate size of a value in bytes of JSON, by the measure of [`json`].
pub(super) fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| size(item) + 1).sum::<usize>() + 2,
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| name.len() + 4 + size(field)).sum::<usize>() + 2
        }
    }
}

fn spend(left: &mut usize, bytes: usize) -> Result<(), EvalFault> {
    *left = left.checked_sub(bytes).ok_or(EvalFault::TooLarge { max: OUTPUT_BYTES_MAX })?;
    Ok(())
}

fn inner(value: &Engine, left: &mut usize, depth: usize) -> Result<Value, EvalFault> {
    if depth > JSON_DEPTH_MAX {
        return Err(EvalFault::NoJson);
    }
    match value.kind() {
        ValueKind::Undefined => Err(EvalFault::Undefined),
        ValueKind::None => spend(left, 8).map(|()| Value::Null),
        ValueKind::Bool => spend(left, 8).map(|()| Value::Bool(value.is_true())),
        ValueKind::Number => spend(left, 8).and_then(|()| number(value).ok_or(EvalFault::NoJson)),
        ValueKind::String => {
            let text = value.as_str().ok_or(EvalFault::NoJson)?;
            spend(left, text.len() + 2)?;
            Ok(Value::from(text))
        }
        ValueKind::Seq | ValueKind::Iterable => {
            spend(left, 2)?;
            let items = value.try_iter().map_err(|_| EvalFault::NoJson)?;
            let mut out = Vec::new();
            for item in items {
                spend(left, 1)?;
                out.push(inner(&item, left, depth + 1)?);
            }
            Ok(Value::Array(out))
        }
        ValueKind::Map => {
            spend(left, 2)?;
            let names = value.try_iter().map_err(|_| EvalFault::NoJson)?;
            let mut out = Map::new();
            for name in names {
                let text = name.as_str().ok_or(EvalFault::NoJson)?.to_owned();
                spend(left, text.len() + 4)?;
                let field = value.get_item(&name).map_err(|_| EvalFault::NoJson)?;
                out.insert(text, inner(&field, left, depth + 1)?);
            }
            Ok(Value::Object(out))
        }
        ValueKind::Bytes | ValueKind::Plain | ValueKind::Invalid => Err(EvalFault::NoJson),
        // A kind of a later release of the engine.
        _ => Err(EvalFault::NoJson),
    }
}

fn number(value: &Engine) -> Option<Value> {
    if value.is_integer() {
        let whole = i64::try_from(value.clone()).map(Number::from);
        let whole = whole.or_else(|_| u64::try_from(value.clone()).map(Number::from));
        return whole.ok().map(Value::Number);
    }
    f64::try_from(value.clone()).ok().and_then(Number::from_f64).map(Value::Number)
}
