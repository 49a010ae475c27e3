//! The JSON Schema that the result of a job fits.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::{bounds::Text, lang::Words};

/// Maximum size of the schema of a result, in bytes of JSON.
pub const OUTPUT_SCHEMA_BYTES_MAX: usize = 16 * 1024;
/// Maximum nesting of the schema of a result. A property of an object takes two levels.
pub const OUTPUT_SCHEMA_DEPTH_MAX: usize = 32;
/// Maximum size of a result that fits a schema, in bytes of JSON.
pub const OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// Maximum number of times that a model is asked for the result of one job.
pub const OUTPUT_TRIES_MAX: u32 = 4;
/// Maximum number of places that a record names of a reply that does not fit.
pub const MISFITS_MAX: usize = 20;
/// Maximum number of steps whose results the model that gives the result is told: the last ones.
pub const OUTPUT_STEPS_MAX: usize = 100;

/// The JSON Schema of a job's result: an object.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct OutputSchema(#[schemars(with = "std::collections::BTreeMap<String, Value>")] pub Value);

impl<'de> Deserialize<'de> for OutputSchema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(|fields| Self(Value::Object(fields)))
    }
}

impl OutputSchema {
    /// Checks that the schema is one of objects, and within the bounds.
    ///
    /// # Errors
    /// Returns the place in the schema, dotted and empty for the schema itself, and the requirement
    /// that it violates.
    pub fn check(&self) -> Result<(), (String, Words)> {
        let of_object = self.0.get("type").and_then(Value::as_str) == Some("object");
        if !of_object {
            return Err(("type".to_owned(), Text::OfObjects.into()));
        }
        if self.0.to_string().len() > OUTPUT_SCHEMA_BYTES_MAX {
            return Err((String::new(), Text::SchemaBytes.into()));
        }
        match too_deep(&self.0, OUTPUT_SCHEMA_DEPTH_MAX) {
            None => Ok(()),
            Some(place) => {
                let max = &OUTPUT_SCHEMA_DEPTH_MAX;
                Err((place, Words::new(|l| Text::SchemaDepth { max }.text(l))))
            }
        }
    }
}

/// Returns the place of the first value that is nested deeper than `left` levels.
fn too_deep(value: &Value, left: usize) -> Option<String> {
    let inner: Box<dyn Iterator<Item = (String, &Value)>> = match value {
        Value::Object(fields) => Box::new(fields.iter().map(|(name, v)| (name.clone(), v))),
        Value::Array(items) => Box::new(items.iter().enumerate().map(|(n, v)| (n.to_string(), v))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    if left == 0 {
        return Some(String::new());
    }
    inner.into_iter().find_map(|(name, value)| {
        let rest = too_deep(value, left - 1)?;
        Some(if rest.is_empty() { name } else { format!("{name}.{rest}") })
    })
}

/// A place of a reply that does not fit the schema of the result.
#[derive(
    Debug, Clone, PartialEq, Eq, Serialize, Deserialize, derive_more::Display, schemars::JsonSchema,
)]
#[display("{field}: {why}")]
pub struct Misfit {
    /// Path of the place, dotted (`items[0].price`); `.` for the reply itself.
    pub field: String,
    /// Requirement that the place violates, in the language of the job.
    pub why: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::lang::Language;

    fn nested(levels: usize) -> Value {
        (0..levels).fold(
            json!({"type": "string"}),
            |inner, _| json!({"type": "object", "properties": {"a": inner}}),
        )
    }

    #[test]
    fn a_schema_beyond_its_bounds_is_refused_with_its_place() {
        let long = "x".repeat(OUTPUT_SCHEMA_BYTES_MAX);
        for (schema, place, why) in [
            (json!({"type": "array"}), "type", "object"),
            (json!([1]), "type", "object"),
            (json!({"type": "object", "title": long}), "", "16 KiB"),
            (nested(16), "properties.a.properties.a", "32"),
        ] {
            let (found, words) = OutputSchema(schema).check().unwrap_err();
            assert!(found.starts_with(place), "{found}");
            assert!(words.text(Language::En).contains(why), "{}", words.text(Language::En));
        }
    }

    #[test]
    fn the_deepest_schema_is_taken() {
        assert_eq!(OutputSchema(nested(15)).check(), Ok(()));
    }
}
