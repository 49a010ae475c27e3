//! The check of a tool call's arguments against the tool's schema, with errors that a model can act
//! upon.
//!
//! The arguments in a plan may contain placeholders, whose values are known only when the step
//! runs. The check of a plan therefore covers everything else, and the complete arguments are
//! checked again before the call.

use agents::placeholder::{self, Unknown};
use proto::{
    excerpt,
    lang::{Language, Words},
    limits,
    strict::{self, Refused, is_deep},
    tool::ToolSpec,
};
use serde_json::{Map, Value};

use crate::schema::{Misfit, Schemas};

messages::texts!(arguments);

/// Bound of the mistakes in one error.
const MISTAKES_MAX: usize = 5;
/// Bound of each of the two ends of a mistake that are kept, in characters. Values may be long.
const MISTAKE_CHARS: usize = 150;

/// The meaning of a text such as `{{step1.id}}` in an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placeholders {
    /// A placeholder: the arguments belong to a plan.
    Open,
    /// An ordinary text: the arguments are final.
    Literal,
}

/// Checks the arguments of a tool call.
///
/// # Errors
/// At most five mistakes, each with the argument's path.
pub fn check(
    schemas: &Schemas,
    tool: &ToolSpec,
    args: &Value,
    placeholders: Placeholders,
) -> Result<(), Words> {
    let Some(given) = args.as_object() else {
        return Err(Words::new(|language| no_object(args, language)));
    };
    if is_deep(args) {
        let max = &limits::JSON_DEPTH_MAX;
        return Err(Words::new(|language| Text::TooDeep { max }.text(language)));
    }
    let schema = schemas.get(&tool.schema).map_err(|e| Words::from(e.to_string()))?;
    let misfits = match placeholders {
        Placeholders::Literal => schema.check(args),
        Placeholders::Open => schema.check_where(args, is_wrong_in_any_case),
    };
    let known = closed(&tool.schema);
    let extra = known.into_iter().flat_map(|names| {
        given.keys().map(String::as_str).filter(|name| !names.contains_key(*name))
    });
    let extra: Vec<&str> = extra.collect();
    if misfits.is_empty() && extra.is_empty() {
        return Ok(());
    }
    Err(Words::new(|language| mistakes(&misfits, &extra, language)))
}

fn mistakes(misfits: &[Misfit], extra: &[&str], language: Language) -> String {
    let at =
        |field: &str, why: &str| Text::At { field: &cut(field), why: &cut(why) }.text(language);
    let misfits = misfits.iter().map(|misfit| match misfit.field.as_str() {
        "." => cut(misfit.why_in(language)),
        field => at(field, misfit.why_in(language)),
    });
    let no_argument = Text::Extra.text(language);
    let extra = extra.iter().map(|name| at(name, &no_argument));
    let all: Vec<String> = misfits.chain(extra).take(MISTAKES_MAX).collect();
    all.join(&Text::Semicolon.text(language))
}

/// Returns the error of arguments that are no object. A text holds the model's own words, which are
/// not valid JSON.
fn no_object(args: &Value, language: Language) -> String {
    let written = args.as_str().filter(|written| written.trim_start().starts_with('{'));
    match written.map(|written| strict::value_from_slice(written.as_bytes())) {
        Some(Err(Refused::Malformed(why))) => Text::NotJson { why: &cut(&why) }.text(language),
        Some(Err(Refused::TooDeep)) => {
            Text::TooDeep { max: &limits::JSON_DEPTH_MAX }.text(language)
        }
        Some(Ok(_) | Err(_)) | None => Text::NoObject.text(language),
    }
}

/// Returns the properties of a closed schema. A schema that lists properties and does not mention
/// others accepts no others, because a call whose argument is silently dropped is not the intended
/// call.
fn closed(schema: &Value) -> Option<&Map<String, Value>> {
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

/// Returns whether a value violates a keyword for every value of its placeholders.
fn is_wrong_in_any_case(part: &Value, keyword: &str) -> bool {
    match part {
        Value::String(text) => match placeholder::unknown(text) {
            Unknown::Nothing => true,
            Unknown::Words => keyword == "type",
            Unknown::Everything => false,
        },
        // These keywords concern the members that exist, not their values.
        Value::Array(_) | Value::Object(_) => {
            placeholder::references(part).is_empty()
                || matches!(
                    keyword,
                    "type"
                        | "required"
                        | "additionalProperties"
                        | "unevaluatedProperties"
                        | "propertyNames"
                        | "minItems"
                        | "maxItems"
                        | "minProperties"
                        | "maxProperties"
                )
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

fn cut(text: &str) -> String {
    excerpt::ends(text, MISTAKE_CHARS)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
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
                        "properties": {"name": {"type": "string"}}
                    },
                    "tags": {"type": "array", "items": {"type": "integer"}, "maxItems": 2}
                }
            }
        }))
        .unwrap()
    }

    fn errors(args: &Value, placeholders: Placeholders) -> String {
        let wrong = check(&Schemas::new(), &tool(), args, placeholders).err();
        wrong.map(|wrong| wrong.text(Language::En).to_owned()).unwrap_or_default()
    }

    #[rstest]
    #[case::all_known(json!({"id": 1, "title": "abc"}), "")]
    #[case::whole(json!({"id": "{{step1.id}}"}), "")]
    #[case::whole_in_an_enum(json!({"id": 1, "level": "{{step1.level}}"}), "")]
    #[case::in_words(json!({"id": 1, "title": "about {{step1.title}}"}), "")]
    #[case::in_a_list(json!({"id": 1, "tags": [1, "{{step1.id}}"]}), "")]
    #[case::in_an_object(json!({"id": 1, "who": {"name": "{{step1.name}}"}}), "")]
    #[case::words_are_no_number(json!({"id": "task {{step1.id}}"}), "id: \"task {{step1.id}}\" is not of type \"integer\"")]
    #[case::not_a_placeholder(json!({"id": "{{ 1 2 }}"}), "id: \"{{ 1 2 }}\" is not of type \"integer\"")]
    #[case::wrong_type(json!({"id": "62"}), "id: \"62\" is not of type \"integer\"")]
    #[case::too_small(json!({"id": 0}), "id: 0 is less than the minimum of 1")]
    #[case::too_long(json!({"id": 1, "title": "abcdef"}), "title: \"abcdef\" is longer than 5 characters")]
    #[case::missing(json!({"title": "{{step1.title}}"}), "id: \"id\" is a required property")]
    #[case::extra(json!({"id": 1, "colour": "red"}), "colour: is not an argument of this tool")]
    #[case::known_part_of_a_list(json!({"id": 1, "tags": ["{{step1.id}}", "x"]}), "tags[1]: \"x\" is not of type \"integer\"")]
    #[case::too_many(json!({"id": 1, "tags": ["{{a.b}}", "{{a.b}}", "{{a.b}}"]}), "tags: [\"{{a.b}}\",\"{{a.b}}\",\"{{a.b}}\"] has more than 2 items")]
    #[case::extra_inside(json!({"id": 1, "who": {"name": "{{a.b}}", "x": 1}}), "who.x: Additional properties are not allowed ('x' was unexpected)")]
    #[case::no_object(json!("62"), "the arguments must be a JSON object")]
    fn arguments_of_a_plan_are_checked_as_far_as_they_are_known(
        #[case] args: Value,
        #[case] expected: &str,
    ) {
        assert_eq!(errors(&args, Placeholders::Open), expected);
    }

    #[test]
    fn outside_a_plan_braces_are_a_text_like_any_other() {
        let args = json!({"id": "{{step1.id}}"});
        let expected = "id: \"{{step1.id}}\" is not of type \"integer\"";
        assert_eq!(errors(&args, Placeholders::Literal), expected);
        assert_eq!(errors(&json!({"id": 1, "title": "{{a}}"}), Placeholders::Literal), "");
    }

    #[test]
    fn arguments_that_could_not_be_read_again_are_refused() {
        let nested = |depth: usize| (1..depth).fold(json!([]), |inner, _| json!([inner]));
        assert!(!is_deep(&nested(limits::JSON_DEPTH_MAX)));
        assert!(is_deep(&nested(limits::JSON_DEPTH_MAX + 1)));
        let args = json!({"id": 1, "tags": nested(limits::JSON_DEPTH_MAX)});
        assert_eq!(errors(&args, Placeholders::Open), "nested deeper than 64 levels");
    }

    #[test]
    fn a_schema_that_points_elsewhere_is_never_followed() {
        let mut tool = tool();
        tool.schema = json!({"$ref": "http://127.0.0.1:1/schema.json"});
        let error = check(&Schemas::new(), &tool, &json!({}), Placeholders::Open).unwrap_err();
        assert!(error.text(Language::En).starts_with("the schema cannot be used"), "{error:?}");
    }
}
