//! A one-line summary of a tool's arguments for a prompt: `{id: integer, title?: string (a few
//! words)}`.

use serde_json::Value;

/// Longest description of one argument, in characters.
const WORDS_MAX: usize = 160;
/// Deepest object that is expanded; below it only the type is named.
const DEPTH_MAX: usize = 3;

/// Summarises the arguments that a JSON Schema describes.
pub(crate) fn of_schema(schema: &Value) -> String {
    let mut out = String::new();
    object(schema, DEPTH_MAX, &mut out);
    out
}

fn object(schema: &Value, depth: usize, out: &mut String) {
    let required: Vec<_> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    out.push('{');
    let properties = schema.get("properties").and_then(Value::as_object);
    for (n, (name, property)) in properties.into_iter().flatten().enumerate() {
        if n > 0 {
            out.push_str(", ");
        }
        out.push_str(name);
        if !required.contains(&name.as_str()) {
            out.push('?');
        }
        out.push_str(": ");
        kind(property, depth, out);
        if let Some(words) = property.get("description").and_then(Value::as_str) {
            let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
            out.push_str(" (");
            out.extend(words.chars().take(WORDS_MAX));
            out.push(')');
        }
    }
    out.push('}');
}

fn kind(schema: &Value, depth: usize, out: &mut String) {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values: Vec<_> = values.iter().map(Value::to_string).collect();
        out.push_str(&values.join(" | "));
        return;
    }
    if let Some(value) = schema.get("const") {
        out.push_str(&value.to_string());
        return;
    }
    match schema.get("type") {
        Some(Value::String(name)) if name == "array" => {
            match schema.get("items") {
                Some(items) if depth > 0 => kind(items, depth - 1, out),
                Some(_) | None => out.push_str("any"),
            }
            out.push_str("[]");
        }
        Some(Value::String(name)) if name == "object" => {
            if depth > 0 && schema.get("properties").is_some() {
                object(schema, depth - 1, out);
            } else {
                out.push_str("object");
            }
        }
        Some(Value::String(name)) => out.push_str(name),
        Some(Value::Array(names)) => {
            let names: Vec<_> = names.iter().filter_map(Value::as_str).collect();
            out.push_str(&names.join(" | "));
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            out.push_str("any");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_fits_in_a_line() {
        for (schema, expected) in [
            (json!({"type": "object"}), "{}"),
            (json!(true), "{}"),
            (
                json!({"properties": {"id": {"type": "integer"}, "how": {"enum": ["a", 1]}}, "required": ["id"]}),
                r#"{id: integer, how?: "a" | 1}"#,
            ),
            (
                json!({"properties": {
                    "tags": {"type": "array", "items": {"type": "string"}, "description": "any\n  number"},
                    "who": {"type": "object", "properties": {"name": {"type": ["string", "null"]}}},
                    "x": {}
                }}),
                "{tags?: string[] (any number), who?: {name?: string | null}, x?: any}",
            ),
        ] {
            assert_eq!(of_schema(&schema), expected);
        }
    }
}
