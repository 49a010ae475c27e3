//! Checks the arguments of a planned tool call against the tool's schema, as far as they are known:
//! what a placeholder stands for is known only when the step runs, and is checked again then.

use jsonschema::{ValidationError, error::ValidationErrorKind};
use proto::{
    excerpt,
    placeholder::{self, Unknown},
    tool::ToolSpec,
};
use serde_json::Value;

/// Most mistakes that are told at a time.
const MISTAKES_MAX: usize = 5;
/// How much is kept of each end of a mistake; schemas and values may be long.
const MISTAKE_CHARS: usize = 150;

/// Says what is wrong with the arguments of a tool.
///
/// # Errors
/// The arguments that do not fit, each with its path.
pub(crate) fn check(tool: &ToolSpec, args: &Value) -> Result<(), String> {
    let Some(given) = args.as_object() else {
        return Err("they must be a JSON object".to_owned());
    };
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(&tool.schema)
        .map_err(|_| "the tool's own schema cannot be used".to_owned())?;
    let mut mistakes: Vec<String> =
        validator.iter_errors(args).filter(counts).take(MISTAKES_MAX).map(|e| told(&e)).collect();
    if let Some(names) = closed(&tool.schema) {
        let extra = given.keys().filter(|name| !names.contains_key(*name));
        mistakes.extend(
            extra
                .take(MISTAKES_MAX)
                .map(|name| format!("{}: is not an argument of this tool", cut(name))),
        );
    }
    if mistakes.is_empty() { Ok(()) } else { Err(mistakes.join("; ")) }
}

/// The names a schema knows, when it means to know all of them: a schema that lists properties and
/// says nothing about others takes no others, because an argument that is silently dropped is not
/// the call that was meant.
fn closed(schema: &Value) -> Option<&serde_json::Map<String, Value>> {
    const OPENING: [&str; 8] = [
        "additionalProperties",
        "patternProperties",
        "unevaluatedProperties",
        "$ref",
        "allOf",
        "anyOf",
        "oneOf",
        "if",
    ];
    let names = schema.get("properties")?.as_object()?;
    OPENING.iter().all(|word| schema.get(word).is_none()).then_some(names)
}

/// Whether a mistake is one whatever the placeholders in the value come to.
fn counts(error: &ValidationError<'_>) -> bool {
    let value = error.instance();
    match value.as_ref() {
        Value::String(text) => match placeholder::unknown(text) {
            Unknown::Nothing => true,
            Unknown::Words => matches!(error.kind(), ValidationErrorKind::Type { .. }),
            Unknown::Everything => false,
        },
        Value::Array(_) | Value::Object(_) => {
            placeholder::references(value).is_empty() || is_about_form(error.kind())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

/// Whether a mistake is about which members a list or an object has, and not about their values.
#[expect(clippy::wildcard_enum_match_arm, reason = "a foreign enum that grows with JSON Schema")]
fn is_about_form(kind: &ValidationErrorKind) -> bool {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::AdditionalProperties { .. }
        | Kind::UnevaluatedProperties { .. }
        | Kind::Required { .. }
        | Kind::Type { .. }
        | Kind::MinItems { .. }
        | Kind::MaxItems { .. }
        | Kind::MinProperties { .. }
        | Kind::MaxProperties { .. }
        | Kind::PropertyNames { .. } => true,
        _ => false,
    }
}

fn told(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let path = path.trim_start_matches('/').replace('/', ".");
    let message = cut(&error.to_string());
    if path.is_empty() { message } else { format!("{}: {message}", cut(&path)) }
}

fn cut(text: &str) -> String {
    excerpt::ends(text, MISTAKE_CHARS)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool() -> ToolSpec {
        serde_json::from_value(json!({
            "name": "t", "description": "", "effect": "pure", "pool": "p",
            "schema": {
                "type": "object",
                "required": ["id"],
                "properties": {
                    "id": {"type": "integer", "minimum": 1},
                    "title": {"type": "string", "maxLength": 5},
                    "level": {"enum": ["main", "sub"]},
                    "who": {
                        "type": "object",
                        "additionalProperties": false,
                        "properties": {"name": {"type": "string"}},
                        "anyOf": [{"required": ["name"]}]
                    },
                    "tags": {"type": "array", "items": {"type": "integer"}, "maxItems": 2}
                }
            }
        }))
        .unwrap()
    }

    #[test]
    fn arguments_are_checked_as_far_as_they_are_known() {
        for (args, expected) in [
            (json!({"id": 1, "title": "abc"}), ""),
            (json!({"id": "{{step1.id}}"}), ""),
            (json!({"id": 1, "level": "{{step1.level}}"}), ""),
            (json!({"id": 1, "title": "about {{step1.title}}"}), ""),
            (json!({"id": 1, "tags": [1, "{{step1.id}}"]}), ""),
            (json!({"id": 1, "who": {"name": "{{step1.name}}"}}), ""),
            (
                json!({"id": "task {{step1.id}}"}),
                "id: \"task {{step1.id}}\" is not of type \"integer\"",
            ),
            (json!({"id": "62"}), "id: \"62\" is not of type \"integer\""),
            (json!({"id": 0}), "id: 0 is less than the minimum of 1"),
            (json!({"id": 1, "title": "abcdef"}), "title: \"abcdef\" is longer than 5 characters"),
            (json!({}), "\"id\" is a required property"),
            (json!({"title": "{{step1.title}}"}), "\"id\" is a required property"),
            (json!({"id": 1, "colour": "red"}), "colour: is not an argument of this tool"),
            (
                json!({"id": 1, "tags": ["{{step1.id}}", "x"]}),
                "tags.1: \"x\" is not of type \"integer\"",
            ),
            (
                json!({"id": 1, "tags": ["{{a.b}}", "{{a.b}}", "{{a.b}}"]}),
                "tags: [\"{{a.b}}\",\"{{a.b}}\",\"{{a.b}}\"] has more than 2 items",
            ),
            (
                json!({"id": 1, "who": {"name": "{{a.b}}", "x": 1}}),
                "who: Additional properties are not allowed ('x' was unexpected)",
            ),
            (json!("62"), "they must be a JSON object"),
        ] {
            assert_eq!(check(&tool(), &args).err().unwrap_or_default(), expected, "{args}");
        }
    }

    #[test]
    fn a_schema_that_points_elsewhere_is_never_followed() {
        let mut tool = tool();
        tool.schema = json!({"$ref": "http://127.0.0.1:1/schema.json"});
        assert_eq!(
            check(&tool, &json!({})),
            Err("the tool's own schema cannot be used".to_owned())
        );
    }
}
