//! The JSON Schemas of workflow files: their own check, the check of literal values, and the steps
//! of expressions into them.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use super::{fields::Reading, words::Text};
use crate::{source::tree::Node, workflow::evaluate::kind};

/// Maximum size of a schema, in bytes of JSON.
const WORKFLOW_SCHEMA_BYTES_MAX: usize = 64 * 1024;

/// Maximum size of a compiled pattern, in bytes.
const WORKFLOW_PATTERN_BYTES_MAX: usize = 1024 * 1024;

/// Compiles a schema. Nothing is fetched, and patterns run in linear time.
fn compile(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .offline()
        .with_pattern_options(
            PatternOptions::regex()
                .size_limit(WORKFLOW_PATTERN_BYTES_MAX)
                .dfa_size_limit(WORKFLOW_PATTERN_BYTES_MAX),
        )
        .build(schema)
        .map_err(|error| error.to_string().chars().take(200).collect())
}

/// Reads a schema, and reports one that cannot be used.
pub(super) fn schema(reading: &mut Reading, node: &Node, path: &str) -> Option<Value> {
    reading.fields(node, path)?;
    let schema = node.to_json();
    let bytes = schema.to_string().len();
    if bytes > WORKFLOW_SCHEMA_BYTES_MAX {
        reading.mistake(
            node.at,
            path,
            Text::TooLarge { bytes: &bytes, max: &WORKFLOW_SCHEMA_BYTES_MAX },
        );
        return None;
    }
    if let Err(why) = compile(&schema) {
        reading.mistake(node.at, path, Text::NoSchema { why: &why });
        return None;
    }
    Some(schema)
}

/// Returns the reasons why a value does not fit a schema, each with its path below the value.
pub(in crate::workflow) fn misfits(schema: &Value, value: &Value) -> Vec<(String, String)> {
    let Ok(validator) = compile(schema) else { return Vec::new() };
    let errors = validator.iter_errors(value).take(10);
    errors
        .map(|error| {
            let path = error.instance_path().to_string();
            let path = path.trim_start_matches('/').replace('/', ".");
            (path, error.to_string().chars().take(200).collect())
        })
        .collect()
}

/// The type of a value as far as its schema says.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shape<'a>(pub(super) Option<&'a Value>);

impl<'a> Shape<'a> {
    /// Returns the JSON type that every value has, if the schema says so.
    pub(super) fn kind(self) -> Option<&'static str> {
        let schema = self.0?;
        match schema.get("type") {
            Some(Value::String(name)) => Some(match name.as_str() {
                "boolean" => "boolean",
                "integer" | "number" => "number",
                "string" => "string",
                "array" => "array",
                "object" => "object",
                "null" => "null",
                _ => return None,
            }),
            Some(_) => None,
            None => {
                let mut kinds = schema.get("enum")?.as_array()?.iter().map(kind);
                let first = kinds.next()?;
                kinds.all(|kind| kind == first).then_some(first)
            }
        }
    }

    /// Returns the shape of a field. A field that the schema does not name exists only when the
    /// schema allows further ones in so many words.
    ///
    /// # Errors
    /// Fails when the value has no such field; the error lists the fields.
    pub(super) fn field(self, name: &str) -> Result<Self, Vec<&'a str>> {
        let Some(schema) = self.0 else { return Ok(Self(None)) };
        if self.kind().is_some_and(|kind| kind != "object") {
            return Err(Vec::new());
        }
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return Ok(Self(schema.get("additionalProperties").filter(|s| s.is_object())));
        };
        if let Some(schema) = properties.get(name) {
            return Ok(Self(Some(schema)));
        }
        let open = |key| schema.get(key).is_some_and(|value| *value != Value::Bool(false));
        let is_open =
            ["additionalProperties", "patternProperties", "$ref", "allOf", "anyOf", "oneOf"]
                .into_iter()
                .any(open);
        if is_open { Ok(Self(None)) } else { Err(properties.keys().map(String::as_str).collect()) }
    }

    /// Returns the shape of an item of a list.
    pub(super) fn item(self) -> Self {
        Self(self.0.and_then(|schema| schema.get("items")).filter(|items| items.is_object()))
    }
}
