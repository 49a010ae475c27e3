//! The bounds of an evaluation, and the names of JSON's types.

use serde_json::Value;

/// Fuel of one expression: the number of the engine's instructions.
pub const FUEL: u64 = 2_000;

/// Maximum size of an evaluated value, in bytes of JSON.
pub const OUTPUT_BYTES_MAX: usize = 64 * 1024;

/// Returns the type of a value as JSON Schema names it.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
