//! JSON Schemas of replies in the subsets that providers hold a model to. Pure.
//!
//! A provider's subset never decides whether a reply is right: the reply is checked against the whole
//! schema later. What a subset lacks is left out, where that makes the schema looser.

use serde_json::{Map, Value};

/// Keywords whose value is an object of schemas.
const MAPS: [&str; 3] = ["properties", "$defs", "definitions"];
/// Keywords whose value is a schema.
const ONES: [&str; 2] = ["items", "additionalProperties"];
/// Keywords whose value is a list of schemas.
const LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];

/// Keywords of OpenAI's strict subset.
const OPENAI: [&str; 19] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "description",
    "title",
    "anyOf",
    "$ref",
    "$defs",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "multipleOf",
    "minItems",
    "maxItems",
];
/// Maximum nesting of objects in OpenAI's strict subset.
const OPENAI_DEPTH: usize = 10;
/// Keywords that Gemini reads.
const GEMINI: [&str; 19] = [
    "$id",
    "$defs",
    "$ref",
    "$anchor",
    "type",
    "format",
    "title",
    "description",
    "enum",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "anyOf",
    "oneOf",
    "properties",
    "additionalProperties",
];
/// Keywords that Anthropic reads.
const ANTHROPIC: [&str; 15] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "description",
    "title",
    "anyOf",
    "allOf",
    "$ref",
    "$defs",
    "definitions",
    "format",
];

/// `true` if a schema is in OpenAI's strict subset: every object is closed and requires all its
/// properties, and no keyword is unknown.
pub(super) fn is_strict(schema: &Value) -> bool {
    is_strict_at(schema, OPENAI_DEPTH) && schema.get("anyOf").is_none()
}

fn is_strict_at(schema: &Value, depth: usize) -> bool {
    let Some(schema) = schema.as_object() else { return false };
    let is_object = schema.contains_key("properties")
        || schema.get("type").is_some_and(|kind| kind == "object");
    if is_object && (depth == 0 || !is_closed(schema) || !requires_all(schema)) {
        return false;
    }
    let depth = depth.saturating_sub(usize::from(is_object));
    schema.keys().all(|keyword| OPENAI.contains(&keyword.as_str()))
        && inner(schema).all(|schema| is_strict_at(schema, depth))
}

fn is_closed(schema: &Map<String, Value>) -> bool {
    schema.get("additionalProperties") == Some(&Value::Bool(false))
}

fn requires_all(schema: &Map<String, Value>) -> bool {
    let names = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &String| {
        required.is_some_and(|required| required.iter().any(|one| one == name.as_str()))
    };
    names.is_none_or(|names| names.keys().all(is_required))
}

/// Returns the schemas in a schema, `additionalProperties: false` left out.
fn inner(schema: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let maps = MAPS.iter().filter_map(|name| schema.get(*name)?.as_object());
    let ones = ONES.iter().filter_map(|name| schema.get(*name)).filter(|one| !one.is_boolean());
    let lists = LISTS.iter().filter_map(|name| schema.get(*name)?.as_array());
    maps.flat_map(Map::values).chain(ones).chain(lists.flatten())
}

/// Returns a schema with the keywords that Gemini reads.
pub(super) fn for_gemini(schema: &Value) -> Value {
    let keep = |mut schema: Map<String, Value>| {
        schema.retain(|name, _| name == "required" || GEMINI.contains(&name.as_str()));
        Some(schema)
    };
    mapped(schema, &keep).unwrap_or_else(|| schema.clone())
}

/// Returns a schema with the keywords that Anthropic reads, whose objects are closed. `None` if an
/// object of any properties would be closed with it: such a schema would forbid what fits.
pub(super) fn for_anthropic(schema: &Value) -> Option<Value> {
    let close = |mut schema: Map<String, Value>| {
        schema.retain(|name, _| ANTHROPIC.contains(&name.as_str()));
        let is_object = schema.contains_key("properties")
            || schema.get("type").is_some_and(|kind| kind == "object");
        if is_object {
            let is_open = schema.get("additionalProperties").is_some_and(|more| *more != false);
            if is_open || !schema.contains_key("properties") {
                return None;
            }
            schema.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
        Some(schema)
    };
    mapped(schema, &close)
}

/// Applies a change to every schema in a schema, the inner ones first. `None` if one fails.
fn mapped(
    schema: &Value,
    change: &dyn Fn(Map<String, Value>) -> Option<Map<String, Value>>,
) -> Option<Value> {
    let Value::Object(schema) = schema else { return Some(schema.clone()) };
    let mut changed = Map::new();
    for (name, value) in schema {
        let value = match value {
            Value::Object(schemas) if MAPS.contains(&name.as_str()) => {
                let each = schemas.iter().map(|(n, v)| Some((n.clone(), mapped(v, change)?)));
                Value::Object(each.collect::<Option<_>>()?)
            }
            one if ONES.contains(&name.as_str()) => mapped(one, change)?,
            Value::Array(schemas) if LISTS.contains(&name.as_str()) => {
                Value::Array(schemas.iter().map(|one| mapped(one, change)).collect::<Option<_>>()?)
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => value.clone(),
        };
        changed.insert(name.clone(), value);
    }
    Some(Value::Object(change(changed)?))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::closed(json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}), true)]
    #[case::open(json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}), false)]
    #[case::optional(json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false}), false)]
    #[case::unknown_keyword(json!({"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}, "required": ["a"], "additionalProperties": false}), false)]
    #[case::inner_open(json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object"}}}, "required": ["a"], "additionalProperties": false}), false)]
    #[case::a_property_like_a_keyword(json!({"type": "object", "properties": {"minLength": {"type": "string"}}, "required": ["minLength"], "additionalProperties": false}), true)]
    fn the_strict_subset_is_known(#[case] schema: Value, #[case] expected: bool) {
        assert_eq!(is_strict(&schema), expected);
    }

    #[test]
    fn keywords_outside_a_subset_are_left_out_and_properties_stay() {
        let schema = json!({"type": "object", "properties": {
            "pattern": {"type": "string", "pattern": "^x$", "minLength": 1},
            "rows": {"type": "array", "uniqueItems": true, "items": {"type": "number", "exclusiveMinimum": 0}}
        }, "required": ["pattern"]});
        let expected = json!({"type": "object", "properties": {
            "pattern": {"type": "string"}, "rows": {"type": "array", "items": {"type": "number"}}
        }, "required": ["pattern"]});
        assert_eq!(for_gemini(&schema), expected);
        let mut closed = expected;
        closed["additionalProperties"] = json!(false);
        assert_eq!(for_anthropic(&schema), Some(closed));
    }

    #[rstest]
    #[case::a_map(json!({"type": "object", "properties": {"a": {"type": "object", "additionalProperties": {"type": "number"}}}}))]
    #[case::any_object(json!({"type": "object"}))]
    fn a_schema_that_closing_would_change_is_not_sent(#[case] schema: Value) {
        assert_eq!(for_anthropic(&schema), None);
    }
}
