//! The placeholders of tool arguments: `{{step1.id}}` is replaced by the `id` in step1's result.
//!
//! A string that consists of one placeholder becomes the value, with its type. Placeholders inside
//! a longer string are replaced by their texts. Inserted values are data and are never searched for
//! placeholders, so a result that contains `{{…}}` stays unchanged.
//!
//! Text in braces that does not have the form `{{id.path}}` is literal, and `{{"{{"}}` stands for
//! two braces: `{{"{{"}}name}}` becomes `{{name}}`. A text that starts like a placeholder and has
//! an invalid path is [`malformed`].
//!
//! A path enters objects by name and lists by number, written `items.0` or `items[0]`. A missing
//! value is an error that lists the existing names, never a null.

mod missing;
mod path;

use proto::id::StepId;
use serde_json::Value;

pub use self::missing::{Kind, Missing, Unresolved};
use self::path::Placeholder;

/// Returns the steps that the arguments read, each once, in order of appearance.
#[must_use]
pub fn references(args: &Value) -> Vec<StepId> {
    let mut found = Vec::new();
    visit(args, &mut |text| {
        for part in split(text) {
            if let Part::Placeholder(p) = part
                && !found.contains(&p.step)
            {
                found.push(p.step);
            }
        }
    });
    found
}

/// Returns the texts that start like a placeholder and are malformed, such as `{{step1[x]}}` and
/// `{{step1.a b}}`: the name before the dot or bracket, and the whole text. The name may be that of
/// no step.
#[must_use]
pub fn malformed(args: &Value) -> Vec<(StepId, String)> {
    let mut found = Vec::new();
    visit(args, &mut |text| {
        for part in split(text) {
            if let Part::Text(literal) = part {
                found.extend(path::malformed(literal));
            }
        }
    });
    found
}

/// The part of a text that is unknown before its placeholders are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// No part: the text has no placeholder.
    Nothing,
    /// Some of the characters. The result is a text.
    Words,
    /// The value and its type: the text consists of one placeholder.
    Everything,
}

/// Returns the part of a text that is unknown before its placeholders are resolved.
#[must_use]
pub fn unknown(text: &str) -> Unknown {
    let parts = split(text);
    if matches!(parts.as_slice(), [Part::Placeholder(_)]) {
        return Unknown::Everything;
    }
    let some = parts.iter().any(|part| matches!(part, Part::Placeholder(_)));
    if some { Unknown::Words } else { Unknown::Nothing }
}

/// Replaces the placeholders of arguments by values. `lookup` returns the result of a completed
/// step.
///
/// # Errors
/// Returns the first placeholder that names a step without a result, or whose path does not exist
/// in the result.
pub fn resolve(
    args: &Value,
    lookup: &impl Fn(&StepId) -> Option<Value>,
) -> Result<Value, Unresolved> {
    match args {
        Value::String(text) => resolve_text(text, lookup),
        Value::Array(items) => items.iter().map(|item| resolve(item, lookup)).collect(),
        Value::Object(fields) => {
            let value = |value| resolve(value, lookup);
            fields.iter().map(|(name, field)| Ok((name.clone(), value(field)?))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(args.clone()),
    }
}

/// Returns arguments that resolve to exactly these: two braces are escaped in every text.
#[must_use]
pub fn escaped(args: &Value) -> Value {
    match args {
        Value::String(text) => Value::String(text.replace("{{", r#"{{"{{"}}"#)),
        Value::Array(items) => items.iter().map(escaped).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| (name.clone(), escaped(field))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => args.clone(),
    }
}

fn resolve_text(
    text: &str,
    lookup: &impl Fn(&StepId) -> Option<Value>,
) -> Result<Value, Unresolved> {
    let parts = split(text);
    if let [Part::Placeholder(only)] = parts.as_slice() {
        return only.value(lookup);
    }
    let mut out = String::with_capacity(text.len());
    for part in parts {
        match part {
            Part::Text(literal) => out.push_str(literal),
            Part::Braces => out.push_str("{{"),
            Part::Placeholder(p) => match p.value(lookup)? {
                Value::String(s) => out.push_str(&s),
                value @ (Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Array(_)
                | Value::Object(_)) => out.push_str(&value.to_string()),
            },
        }
    }
    Ok(Value::String(out))
}

enum Part<'a> {
    Text(&'a str),
    /// The escape for two braces.
    Braces,
    Placeholder(Placeholder<'a>),
}

fn split(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut literal_from, mut search_from) = (0, 0);
    while let Some(open) =
        text.get(search_from..).and_then(|t| t.find("{{")).map(|n| n + search_from)
    {
        let Some(close) = text.get(open..).and_then(|t| t.find("}}")).map(|n| n + open + 2) else {
            break;
        };
        let whole = text.get(open..close).unwrap_or_default();
        let found = if path::is_braces(whole) {
            Some(Part::Braces)
        } else {
            Placeholder::parse(whole).map(Part::Placeholder)
        };
        if let Some(found) = found {
            if literal_from < open {
                parts.push(Part::Text(text.get(literal_from..open).unwrap_or_default()));
            }
            parts.push(found);
            (literal_from, search_from) = (close, close);
        } else {
            search_from = open + 1;
        }
    }
    if literal_from < text.len() {
        parts.push(Part::Text(text.get(literal_from..).unwrap_or_default()));
    }
    parts
}

fn visit(value: &Value, on_text: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => on_text(text),
        Value::Array(items) => items.iter().for_each(|item| visit(item, on_text)),
        Value::Object(fields) => fields.values().for_each(|item| visit(item, on_text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests;
