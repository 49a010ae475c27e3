//! The parts of a tool that the arguments an agent fixes ([`proto::preset::Presets`]) are held against.

use proto::tool::ToolSpec;

use crate::source;

/// Keywords of a JSON Schema that constrain several arguments together. A part of the arguments
/// cannot be checked against them.
const TOGETHER: [&str; 10] = [
    "required",
    "minProperties",
    "dependentRequired",
    "dependentSchemas",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
];

/// The tool as what is fixed of it is held against: its schema without what only a whole call can
/// fulfil.
#[must_use]
pub fn partial(tool: &ToolSpec) -> ToolSpec {
    let mut partial = tool.clone();
    if let Some(schema) = partial.schema.as_object_mut() {
        schema.retain(|word, _| !TOGETHER.contains(&word.as_str()));
    }
    partial
}

/// The argument of the tool that was probably meant by one that it does not have.
#[must_use]
pub fn meant<'a>(tool: &'a ToolSpec, argument: &str) -> Option<&'a str> {
    let names = tool.schema.get("properties")?.as_object()?.keys();
    let names: Vec<&str> = names.map(String::as_str).collect();
    source::meant(argument, &names).filter(|name| *name != argument)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_part_of_a_call_is_held_against_what_single_arguments_must_be() {
        let schema = json!({
            "type": "object",
            "properties": {"url": {"type": "string"}, "headers": {"type": "object"}},
            "required": ["url", "headers"],
        });
        let spec = json!({"name": "get", "description": "", "schema": schema, "effect": "pure", "pool": "p"});
        let tool: ToolSpec = serde_json::from_value(spec).unwrap();
        assert_eq!(meant(&tool, "header"), Some("headers"));
        assert_eq!(partial(&tool).schema.get("required"), None);
    }
}
