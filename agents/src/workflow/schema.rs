//! The check of a state's values against the schemas of their keys.

use serde_json::Value;

/// Returns the reasons why a value does not fit a schema, or `None` if it fits.
#[must_use]
pub fn misfit(schema: &Value, value: &Value) -> Option<String> {
    let validator = jsonschema::options().offline().build(schema).ok()?;
    let lines: Vec<String> = validator.iter_errors(value).take(10).map(|e| e.to_string()).collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}
