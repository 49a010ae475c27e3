//! The check of a state's values against the schemas of their keys.

use serde_json::Value;

use super::read;

/// Returns the reasons why a value does not fit a schema, or `None` if it fits.
#[must_use]
pub fn misfit(schema: &Value, value: &Value) -> Option<String> {
    let misfits = read::misfits(schema, value).into_iter();
    let lines: Vec<String> = misfits
        .map(|(path, why)| if path.is_empty() { why } else { format!("{path}: {why}") })
        .collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}
