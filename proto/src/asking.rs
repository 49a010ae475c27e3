//! The tool by which a model asks a user: its description for models, and the parser of its
//! arguments.
//!
//! The parser accepts the spellings that models are known to use. A question that no user could
//! answer (a choice without options, a form without fields) is refused with an error that the model
//! can act upon.

mod flaw;
mod kinds;
mod text;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::{
    fact::{Asked, AskedKind},
    interaction::{Choice, Field, Input},
    lang::Language,
    limits,
    message::ToolOffer,
};

use self::text::Text;
pub use self::{
    flaw::{Flaw, Unaskable},
    kinds::{ASK_USER, AskKind, AskKinds},
};

/// Maximum length of a question's prompt, in bytes.
const PROMPT_BYTES_MAX: usize = 8 * 1024;

fn wrong<T>(field: impl Into<String>, flaw: Flaw) -> Result<T, Unaskable> {
    Err(Unaskable { field: field.into(), flaw })
}

/// Returns the description of the tool, for a model that may ask questions of these kinds.
#[must_use]
pub fn offer(language: Language, kinds: &AskKinds) -> ToolOffer {
    let about: Vec<_> = kinds.iter().map(|kind| kind.about().text(language)).collect();
    let about = about.join(&Text::ModesComma.text(language));
    let about = Text::Modes { modes: &about }.text(language);
    let words: Vec<_> = kinds.iter().map(AskKind::as_str).collect();
    let mut properties = json!({
        "mode": {"type": "string", "enum": words, "description": about},
        "prompt": {"type": "string", "description": Text::Prompt.text(language)},
    });
    if kinds.has(AskKind::Select) {
        properties["options"] = json!({"type": "array", "items": {"type": "string"}, "description": Text::Options.text(language)});
        properties["multiple"] =
            json!({"type": "boolean", "description": Text::Multiple.text(language)});
    }
    if kinds.has(AskKind::Form) {
        properties["fields"] = json!({"type": "array", "items": offered_field(language), "description": Text::Fields.text(language)});
    }
    let schema =
        json!({"type": "object", "properties": properties, "required": ["mode", "prompt"]});
    ToolOffer { name: ASK_USER.to_owned(), description: Text::Description.text(language), schema }
}

fn offered_field(language: Language) -> Value {
    json!({
        "type": "object",
        "properties": {
            "type": {"type": "string", "enum": ["text", "textarea", "number", "boolean", "select"]},
            "key": {"type": "string", "description": Text::Key.text(language)},
            "label": {"type": "string", "description": Text::Label.text(language)},
            "description": {"type": "string"},
            "required": {"type": "boolean"},
            "default": {},
            "max_length": {"type": "integer"},
            "min": {"type": "number"},
            "max": {"type": "number"},
            "options": {"type": "array", "items": {"type": "string"}},
            "multiple": {"type": "boolean"}
        },
        "required": ["type", "key", "label"]
    })
}

/// Returns the arguments of the call of [`ASK_USER`] that asks a question. [`parse`] reads them.
#[must_use]
pub fn args(prompt: &str, kind: &AskedKind) -> Value {
    match kind {
        AskedKind::Query => json!({"mode": AskKind::Query.as_str(), "prompt": prompt}),
        AskedKind::Select { options, multiple } => {
            let option = |option: &Choice| match option.label {
                None => json!(option.value),
                Some(_) => json!(option),
            };
            let options: Vec<Value> = options.iter().map(option).collect();
            let mode = AskKind::Select.as_str();
            let mut args = json!({"mode": mode, "prompt": prompt, "options": options});
            if *multiple {
                args["multiple"] = json!(true);
            }
            args
        }
        AskedKind::Form { fields } => {
            json!({"mode": AskKind::Form.as_str(), "prompt": prompt, "fields": fields})
        }
    }
}

/// Parses the arguments of a call of [`ASK_USER`] to a question of one of these kinds.
///
/// # Errors
/// Fails when an argument is missing, has the wrong type or exceeds a bound, or when the question
/// is of another kind. The error names the argument.
pub fn parse(args: &Value, kinds: &AskKinds) -> Result<Asked, Unaskable> {
    let Some(args) = args.as_object() else {
        return wrong(".", Flaw::NotAnObject);
    };
    let prompt = match text(args, "prompt", "prompt")? {
        Some(prompt) => prompt,
        None => text(args, "question", "question")?.unwrap_or_default(),
    };
    if prompt.is_empty() {
        return wrong("prompt", Flaw::NoPrompt);
    }
    if prompt.len() > PROMPT_BYTES_MAX {
        return wrong("prompt", Flaw::TooLong(PROMPT_BYTES_MAX));
    }
    let mode = text(args, "mode", "mode")?.or_else(|| implied(args).map(str::to_owned));
    let wanted = mode.as_deref().and_then(|mode| mode.parse::<AskKind>().ok());
    if let Some(asked) = wanted.filter(|kind| !kinds.has(*kind)) {
        return wrong("mode", Flaw::Kind { asked, may: kinds.clone() });
    }
    let kind = match wanted {
        Some(AskKind::Query) => AskedKind::Query,
        Some(AskKind::Select) => AskedKind::Select {
            options: choices(args.get("options"), "options")?,
            multiple: flag(args, "multiple", "multiple")?,
        },
        Some(AskKind::Form) => AskedKind::Form { fields: fields(args)? },
        None => return wrong("mode", Flaw::Mode),
    };
    Ok(Asked { prompt, kind, default: None })
}

/// Returns the kind of a question that does not name it, by its other arguments; `None` if it has
/// both options and fields.
fn implied(args: &Map<String, Value>) -> Option<&'static str> {
    let is_empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    let has = |name: &str| args.get(name).is_some_and(|value| !is_empty(value));
    match (has("options"), has("fields") || has("formFields")) {
        (false, false) => Some("query"),
        (true, false) => Some("select"),
        (false, true) => Some("form"),
        (true, true) => None,
    }
}

fn fields(args: &Map<String, Value>) -> Result<Vec<Field>, Unaskable> {
    let list = args.get("fields").or_else(|| args.get("formFields"));
    let Some(Value::Array(list)) = list else {
        return wrong("fields", Flaw::NoFields);
    };
    if list.is_empty() || list.len() > limits::FIELDS_MAX {
        return wrong("fields", Flaw::FieldCount);
    }
    let mut keys = BTreeSet::new();
    let mut found = Vec::with_capacity(list.len());
    for (n, item) in list.iter().enumerate() {
        let at = format!("fields[{n}]");
        let Some(item) = item.as_object() else {
            return wrong(at, Flaw::NotAField);
        };
        let field = field(item, &at)?;
        if !keys.insert(field.key.clone()) {
            return wrong(format!("{at}.key"), Flaw::Twice(field.key));
        }
        found.push(field);
    }
    Ok(found)
}

fn field(item: &Map<String, Value>, at: &str) -> Result<Field, Unaskable> {
    let key = text(item, "key", &format!("{at}.key"))?.unwrap_or_default();
    if key.is_empty() {
        return wrong(format!("{at}.key"), Flaw::NoKey);
    }
    if key.len() > limits::TITLE_BYTES_MAX {
        return wrong(format!("{at}.key"), Flaw::TooLong(limits::TITLE_BYTES_MAX));
    }
    let label = text(item, "label", &format!("{at}.label"))?.filter(|l| !l.is_empty());
    let label = label.unwrap_or_else(|| key.clone());
    let default = ["default", "defaultValue"].iter().find_map(|name| item.get(*name));
    if default.is_some_and(|value| !is_plain(value)) {
        return wrong(format!("{at}.default"), Flaw::Default);
    }
    let input = input(item, at)?;
    Ok(Field {
        key,
        label,
        required: flag(item, "required", &format!("{at}.required"))?,
        description: text(item, "description", &format!("{at}.description"))?
            .filter(|d| !d.is_empty()),
        // A default is only a suggestion, so an invalid one is dropped instead of refused.
        default: default.filter(|value| input.takes(value)).cloned(),
        input,
    })
}

/// Returns whether a form field can hold the value, which must not be nested.
fn is_plain(value: &Value) -> bool {
    let scalar = |value: &Value| !value.is_array() && !value.is_object();
    match value {
        Value::Array(items) => items.iter().all(scalar),
        Value::Object(_) => false,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

fn input(item: &Map<String, Value>, at: &str) -> Result<Input, Unaskable> {
    let number = |name: &str| item.get(name).filter(|v| !v.is_null());
    let kind = text(item, "type", &format!("{at}.type"))?;
    match kind.as_deref() {
        Some(kind @ ("text" | "input" | "string" | "textarea")) => {
            let length = number("max_length").or_else(|| number("maxLength"));
            let max_length = match length {
                None => None,
                Some(n) => match n.as_u64().and_then(|n| u32::try_from(n).ok()) {
                    Some(n) if n > 0 => Some(n),
                    Some(_) | None => {
                        return wrong(format!("{at}.max_length"), Flaw::Length);
                    }
                },
            };
            Ok(Input::Text { max_length, min_length: None, multiline: kind == "textarea" })
        }
        Some(kind @ ("number" | "numberInput" | "integer")) => {
            let bound = |name: &str| match number(name) {
                None => Ok(None),
                Some(n) => match n.as_f64() {
                    Some(n) => Ok(Some(n)),
                    None => wrong(format!("{at}.{name}"), Flaw::NotANumber),
                },
            };
            let (min, max) = (bound("min")?, bound("max")?);
            if let (Some(least), Some(most)) = (min, max)
                && least > most
            {
                return wrong(format!("{at}.min"), Flaw::MinAboveMax);
            }
            let integer = kind == "integer";
            if let (Some(least), Some(most), true) = (min, max, integer)
                && least.ceil() > most
            {
                return wrong(format!("{at}.min"), Flaw::NoWholeNumber);
            }
            Ok(Input::Number { min, max, integer })
        }
        Some("boolean" | "switch") => Ok(Input::Boolean),
        Some(kind @ ("select" | "multipleSelect")) => Ok(Input::Select {
            options: choices(
                item.get("options").or_else(|| item.get("list")),
                &format!("{at}.options"),
            )?,
            multiple: kind == "multipleSelect"
                || flag(item, "multiple", &format!("{at}.multiple"))?,
        }),
        Some(_) | None => wrong(format!("{at}.type"), Flaw::Type),
    }
}

fn choices(list: Option<&Value>, at: &str) -> Result<Vec<Choice>, Unaskable> {
    let Some(Value::Array(list)) = list else {
        return wrong(at, Flaw::NoOptions);
    };
    if list.is_empty() || list.len() > limits::OPTIONS_MAX {
        return wrong(at, Flaw::OptionCount);
    }
    let mut seen = BTreeSet::new();
    let mut found = Vec::with_capacity(list.len());
    for (n, item) in list.iter().enumerate() {
        let here = format!("{at}[{n}]");
        let choice = choice(item).filter(|c| !c.value.is_empty());
        let Some(choice) = choice else {
            return wrong(here, Flaw::NotAnOption);
        };
        if choice.value.len() > limits::TITLE_BYTES_MAX {
            return wrong(here, Flaw::TooLong(limits::TITLE_BYTES_MAX));
        }
        if !seen.insert(choice.value.clone()) {
            return wrong(here, Flaw::Twice(choice.value));
        }
        found.push(choice);
    }
    Ok(found)
}

fn choice(item: &Value) -> Option<Choice> {
    match item {
        Value::String(value) => Some(Choice { value: value.trim().to_owned(), label: None }),
        Value::Number(_) | Value::Bool(_) => Some(Choice { value: item.to_string(), label: None }),
        Value::Object(item) => {
            let part = |name: &str| item.get(name).and_then(Value::as_str).map(str::trim);
            let (value, label) = (part("value"), part("label"));
            let value = value.or(label)?.to_owned();
            let label = label.filter(|l| *l != value && !l.is_empty()).map(str::to_owned);
            Some(Choice { value, label })
        }
        Value::Null | Value::Array(_) => None,
    }
}

fn text(args: &Map<String, Value>, name: &str, at: &str) -> Result<Option<String>, Unaskable> {
    match args.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim().to_owned())),
        Some(_) => wrong(at, Flaw::NotText),
    }
}

fn flag(args: &Map<String, Value>, name: &str, at: &str) -> Result<bool, Unaskable> {
    match args.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => wrong(at, Flaw::NotAFlag),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "JSON literals read better unborrowed")]
    fn check(args: Value, expected: &str) {
        let got = match parse(&args, &AskKinds::default()) {
            Ok(asked) => serde_json::to_string(&asked).unwrap(),
            Err(refused) => refused.to_string(),
        };
        assert_eq!(got, expected, "{args}");
    }

    #[test]
    fn questions_are_taken_in_the_spellings_models_use() {
        check(
            json!({"mode": "query", "prompt": " 什么时候？ ", "options": null}),
            r#"{"prompt":"什么时候？","mode":"query"}"#,
        );
        check(
            json!({"mode": "select", "prompt": "Which?", "options": ["a", {"label": "Bee", "value": "b"}, 3]}),
            r#"{"prompt":"Which?","mode":"select","options":[{"value":"a"},{"value":"b","label":"Bee"},{"value":"3"}],"multiple":false}"#,
        );
        check(json!({"question": "When?", "options": []}), r#"{"prompt":"When?","mode":"query"}"#);
        check(
            json!({"question": "Which?", "options": ["a", "b"]}),
            r#"{"prompt":"Which?","mode":"select","options":[{"value":"a"},{"value":"b"}],"multiple":false}"#,
        );
        check(
            json!({"mode": "form", "prompt": "Trip", "formFields": [
                {"type": "input", "key": "to", "label": "To", "valueType": "string", "required": true, "maxLength": 10},
                {"type": "numberInput", "key": "days", "label": "Days", "min": 1, "max": 9, "defaultValue": 2},
            ]}),
            r#"{"prompt":"Trip","mode":"form","fields":[{"key":"to","label":"To","type":"text","max_length":10,"multiline":false,"required":true},{"key":"days","label":"Days","type":"number","min":1.0,"max":9.0,"integer":false,"required":false,"default":2}]}"#,
        );
    }

    #[test]
    fn the_arguments_of_a_question_are_read_as_the_same_question() {
        for asked in [
            json!({"prompt": "When?", "mode": "query"}),
            json!({"prompt": "Which?", "mode": "select", "options": [{"value": "a"}, {"value": "b", "label": "Bee"}]}),
            json!({"prompt": "Which?", "mode": "select", "options": [{"value": "a"}, {"value": "b"}], "multiple": true}),
            json!({"prompt": "Trip", "mode": "form", "fields": [
                {"key": "to", "label": "To", "type": "text", "required": true, "max_length": 10},
                {"key": "days", "label": "Days", "type": "number", "min": 1, "default": 2},
            ]}),
        ] {
            let asked: Asked = serde_json::from_value(asked).unwrap();
            let told = args(&asked.prompt, &asked.kind);
            assert_eq!(parse(&told, &AskKinds::default()).unwrap(), asked, "{told}");
        }
    }

    #[test]
    fn a_question_that_cannot_be_answered_is_refused_with_the_argument_named() {
        let select = |options: Value| json!({"mode": "select", "prompt": "?", "options": options});
        let form = |fields: Value| json!({"mode": "form", "prompt": "?", "fields": fields});
        for (args, expected) in [
            (json!("when?"), "ask_user: .: the arguments must be a JSON object"),
            (json!({"mode": "query"}), "ask_user: prompt: must say what the user is asked"),
            (
                json!({"mode": "query", "prompt": "  "}),
                "ask_user: prompt: must say what the user is asked",
            ),
            (json!({"mode": "query", "prompt": 3}), "ask_user: prompt: must be a text"),
            (
                json!({"mode": "shout", "prompt": "?"}),
                "ask_user: mode: must be \"query\", \"select\" or \"form\"",
            ),
            (
                json!({"prompt": "?", "options": ["a"], "fields": ["b"]}),
                "ask_user: mode: must be \"query\", \"select\" or \"form\"",
            ),
            (select(json!([])), "ask_user: options: must be 1 to 200 options"),
            (select(json!("a,b")), "ask_user: options: a choice needs a list of options"),
            (select(json!(["a", "a "])), "ask_user: options[1]: \"a\" is there twice"),
            (
                select(json!(["a", []])),
                "ask_user: options[1]: must be a text, or an object with value and label",
            ),
            (form(json!([])), "ask_user: fields: must be 1 to 100 fields"),
            (form(json!([{"key": "", "type": "text"}])), "ask_user: fields[0].key: must be a name"),
            (
                form(json!([{"key": "k".repeat(limits::TITLE_BYTES_MAX + 1), "type": "text"}])),
                "ask_user: fields[0].key: must be at most 512 bytes",
            ),
            (
                form(json!([{"key": "a", "type": "file"}])),
                "ask_user: fields[0].type: must be text, textarea, number, boolean or select",
            ),
            (
                form(json!([{"key": "a", "type": "number", "min": 3, "max": 1}])),
                "ask_user: fields[0].min: must not be above max",
            ),
            (
                form(json!([{"key": "a", "type": "integer", "min": 1.2, "max": 1.8}])),
                "ask_user: fields[0].min: leaves no whole number up to max",
            ),
            (
                form(json!([{"key": "a", "type": "text"}, {"key": "a", "type": "text"}])),
                "ask_user: fields[1].key: \"a\" is there twice",
            ),
            (
                form(json!([{"key": "a", "type": "text", "default": [[1]]}])),
                "ask_user: fields[0].default: must be a text, a number, true or false, or a list",
            ),
            (
                form(json!([{"key": "a", "type": "select"}])),
                "ask_user: fields[0].options: a choice needs a list of options",
            ),
        ] {
            check(args, expected);
        }
    }

    #[test]
    fn a_question_of_another_kind_is_neither_offered_nor_taken_and_the_reason_is_told() {
        let query = json!({"mode": "query", "prompt": "When?"});
        let select = json!({"mode": "select", "prompt": "Which?", "options": ["a", "b"]});
        let form =
            json!({"mode": "form", "prompt": "Trip", "fields": [{"key": "to", "type": "text"}]});
        use AskKind::{Form, Query, Select};
        for (kinds, offered, en, zh) in [
            (vec![Query], vec![], "ask with \"query\"", "请改用 \"query\""),
            (
                vec![Query, Select],
                vec!["options", "multiple"],
                "ask with \"query\" or \"select\"",
                "请改用 \"query\" 或 \"select\"",
            ),
            (vec![Form], vec!["fields"], "ask with \"form\"", "请改用 \"form\""),
        ] {
            let may: AskKinds = kinds.iter().copied().collect();
            let schema = offer(Language::En, &may).schema;
            assert_eq!(schema["properties"]["mode"]["enum"], json!(kinds));
            let properties = schema["properties"].as_object().unwrap().keys();
            let extra = properties.filter(|k| !["mode", "prompt"].contains(&k.as_str()));
            assert_eq!(extra.collect::<Vec<_>>(), offered);
            for (kind, args) in [(Query, &query), (Select, &select), (Form, &form)] {
                let parsed = parse(args, &may);
                assert_eq!(parsed.is_ok(), kinds.contains(&kind), "{kind:?} of {kinds:?}");
                let Err(why) = parsed else { continue };
                let asked = parse(args, &AskKinds::default()).unwrap().kind;
                assert_eq!(may.refusal(&asked, Language::Zh), Some(why.text(Language::Zh)));
                assert!(
                    why.to_string().contains(en) && why.text(Language::Zh).contains(zh),
                    "{why}"
                );
            }
        }
        let written = serde_json::to_value(AskKinds::from_iter([Form, Query])).unwrap();
        assert_eq!(written, json!(["query", "form"]));
    }
}
