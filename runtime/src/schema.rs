//! JSON Schema validation, with compiled schemas and a field path in every error.
//!
//! A schema comes from the worker that announced a tool, so it is not trusted. Nothing is fetched,
//! patterns run in linear time, and sizes are bounded. `format` is asserted.

mod translated;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use jsonschema::{PatternOptions, Validator, error::ValidationErrorKind};
use proto::lang::Language;
use serde_json::Value;

/// Bound of a schema, in bytes of JSON.
pub const SCHEMA_BYTES_MAX: usize = 64 * 1024;
/// The maximum number of misfits that are reported for one value.
pub const MISFITS_MAX: usize = 20;
/// The maximum number of compiled schemas in a cache.
const KEPT_MAX: usize = 1024;
/// Bound of a compiled pattern, in bytes. A short pattern can compile to a very large automaton.
const PATTERN_BYTES_MAX: usize = 1024 * 1024;
/// Bound of a misfit's explanation, in characters.
const WHY_CHARS: usize = 300;

/// The reason why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the schema cannot be used: {why}")]
pub struct InvalidSchema {
    /// Path of the place in the schema, dotted; `.` for the schema itself.
    pub place: String,
    /// Reason, in English, as the library gives it.
    pub why: String,
}

impl InvalidSchema {
    fn whole(why: String) -> Self {
        Self { place: ".".to_owned(), why }
    }
}

/// A field that violates the schema.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
#[display("{field}: {why}")]
pub struct Misfit {
    /// The field's path, dotted (`to[0].address`); `.` for the value itself.
    pub field: String,
    /// The reason, in English, as the library gives it.
    pub why: String,
    /// The reason in other languages, where a translation exists.
    translated: Vec<(Language, String)>,
}

impl Misfit {
    /// Returns the reason in a language, or in English when no translation exists.
    #[must_use]
    pub fn why_in(&self, language: Language) -> &str {
        let found = self.translated.iter().find(|(of, _)| *of == language);
        found.map_or(&self.why, |(_, why)| why)
    }
}

/// A compiled schema.
#[derive(Debug)]
pub struct Schema(Validator);

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// Returns an error if the schema is too large, is invalid, or refers to a document outside
    /// itself.
    pub fn compile(schema: &Value) -> Result<Self, InvalidSchema> {
        if !schema.is_object() {
            return Err(InvalidSchema::whole("it must be a JSON object".to_owned()));
        }
        let bytes = schema.to_string().len();
        if bytes > SCHEMA_BYTES_MAX {
            let why = format!("it has {bytes} bytes; at most {SCHEMA_BYTES_MAX} are allowed");
            return Err(InvalidSchema::whole(why));
        }
        jsonschema::options()
            .should_validate_formats(true)
            .offline()
            .with_pattern_options(
                PatternOptions::regex()
                    .size_limit(PATTERN_BYTES_MAX)
                    .dfa_size_limit(PATTERN_BYTES_MAX),
            )
            .build(schema)
            .map(Self)
            .map_err(|e| InvalidSchema {
                place: dotted(e.instance_path().as_str()),
                why: cut(&e.to_string()),
            })
    }

    /// Returns the fields of a value that violate the schema, at most [`MISFITS_MAX`].
    #[must_use]
    pub fn check(&self, value: &Value) -> Vec<Misfit> {
        self.check_where(value, |_, _| true)
    }

    /// Returns the violations for which `counts` is `true`, at most [`MISFITS_MAX`]. `counts`
    /// receives the violating part of the value and the violated keyword.
    #[must_use]
    pub fn check_where(&self, value: &Value, counts: impl Fn(&Value, &str) -> bool) -> Vec<Misfit> {
        if self.0.is_valid(value) {
            return Vec::new();
        }
        let errors = self.0.iter_errors(value);
        errors
            .filter(|error| counts(error.instance(), error.kind().keyword()))
            .take(MISFITS_MAX)
            .map(|error| {
                let mut field = dotted(error.instance_path().as_str());
                // The path names the missing or the unexpected field, not the object around it.
                if let ValidationErrorKind::Required { property } = error.kind() {
                    field = inside(&field, property.as_str().unwrap_or_default());
                } else if let ValidationErrorKind::AdditionalProperties { unexpected }
                | ValidationErrorKind::UnevaluatedProperties { unexpected } = error.kind()
                    && let [one] = unexpected.as_slice()
                {
                    field = inside(&field, one);
                }
                let why =
                    |language| Some((language, cut(&translated::why(error.kind(), language)?)));
                let translated = Language::ALL.iter().copied().filter_map(why).collect();
                Misfit { field, why: cut(&error.to_string()), translated }
            })
            .collect()
    }
}

fn inside(field: &str, name: &str) -> String {
    if field == "." { name.to_owned() } else { format!("{field}.{name}") }
}

/// Converts a JSON pointer to a dotted path.
fn dotted(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        if !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) {
            path.push_str(&format!("[{part}]"));
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&part.replace("~1", "/").replace("~0", "~"));
        }
    }
    if path.is_empty() { ".".to_owned() } else { path }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(WHY_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A bounded cache of compiled schemas. It evicts the least recently used one first.
#[derive(Debug, Default)]
pub struct Schemas {
    kept: Mutex<SchemaCache>,
}

#[derive(Debug, Default)]
struct SchemaCache {
    by_schema: HashMap<Value, (Arc<Schema>, u64)>,
    uses: u64,
}

impl Schemas {
    /// Creates an empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the compiled form of a schema.
    ///
    /// # Errors
    /// An error is returned when the schema cannot be used.
    pub fn get(&self, schema: &Value) -> Result<Arc<Schema>, InvalidSchema> {
        {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.uses += 1;
            let now = kept.uses;
            if let Some((schema, used)) = kept.by_schema.get_mut(schema) {
                *used = now;
                return Ok(Arc::clone(schema));
            }
        }
        // Compiled outside the lock, because it may take milliseconds. Compiling a schema twice is
        // harmless.
        let compiled = Arc::new(Schema::compile(schema)?);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.by_schema.len() >= KEPT_MAX {
            let oldest = kept.by_schema.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(oldest) = oldest.map(|(schema, _)| schema.clone()) {
                kept.by_schema.remove(&oldest);
            }
        }
        let now = kept.uses;
        kept.by_schema.insert(schema.clone(), (Arc::clone(&compiled), now));
        Ok(compiled)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!({}), &[("a", "required")])]
    #[case(json!({"a": "x"}), &[("a", "integer")])]
    #[case(json!({"a": 1, "zz": 2}), &[("zz", "unexpected")])]
    #[case(json!({"a": 1, "to": ["x"]}), &[("to[0]", "email")])]
    #[case(json!({"a": 1, "in": {"b": "q"}}), &[("in.b", "match")])]
    #[case(json!({"a": "x", "in": {}}), &[("a", "integer"), ("in.b", "required")])]
    #[case(json!([]), &[(".", "object")])]
    #[case(json!({"a": 1}), &[])]
    fn every_misfit_names_its_field(#[case] value: Value, #[case] expected: &[(&str, &str)]) {
        let schema = json!({
            "type": "object", "required": ["a"], "additionalProperties": false,
            "properties": {
                "a": {"type": "integer"},
                "to": {"type": "array", "items": {"type": "string", "format": "email"}},
                "in": {"type": "object", "required": ["b"], "properties": {"b": {"pattern": "^x+$"}}}
            }
        });
        let misfits = Schema::compile(&schema).unwrap().check(&value);
        assert_eq!(misfits.len(), expected.len(), "{misfits:?}");
        for (misfit, (field, word)) in misfits.iter().zip(expected) {
            assert_eq!(&misfit.field, field);
            assert!(misfit.why.contains(word), "{misfit:?}");
            let zh = misfit.why_in(Language::Zh);
            assert!(!zh.is_ascii() && zh != misfit.why, "{zh}");
        }
    }

    #[rstest]
    #[case(json!(true), "JSON object")]
    #[case(json!({"type": "strnig"}), "strnig")]
    #[case(json!({"$ref": "http://127.0.0.1:9/schema.json"}), "127.0.0.1")]
    #[case(json!({"$ref": "file:///etc/passwd"}), "passwd")]
    #[case(json!({"pattern": "(?=x)y"}), "pattern")]
    #[case(json!({"pattern": "((a{1,100}){1,100}){1,100}"}), "pattern")]
    #[case(json!({"description": "x".repeat(SCHEMA_BYTES_MAX)}), "at most")]
    fn a_schema_that_cannot_be_trusted_is_refused(#[case] schema: Value, #[case] part: &str) {
        let error = Schema::compile(&schema).unwrap_err().to_string();
        assert!(error.contains(part) || error.contains("regex"), "{error}");
    }

    #[test]
    fn patterns_run_in_linear_time() {
        let schema = Schema::compile(&json!({"pattern": "^(a+)+$"})).unwrap();
        let hostile = Value::from(format!("{}!", "a".repeat(100_000)));
        assert_eq!(schema.check(&hostile).len(), 1);
    }

    #[test]
    fn one_schema_is_compiled_once_and_the_cache_is_bounded() {
        let cache = Schemas::new();
        let first = cache.get(&json!({"type": "string", "title": "x"})).unwrap();
        let again = cache.get(&json!({"title": "x", "type": "string"})).unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        for n in 0..KEPT_MAX + 10 {
            cache.get(&json!({"minimum": n})).unwrap();
        }
        assert_eq!(cache.kept.lock().unwrap().by_schema.len(), KEPT_MAX);
    }
}
