//! Extraction of a JSON value from a model's reply: tolerant of known deviations around and inside
//! the JSON, but of none that could change its meaning.
//!
//! Tolerated: thoughts, prose and code fences around the JSON; comments, single or full-width
//! quotes and commas, unquoted names, trailing commas, line breaks in texts; closing
//! braces that are missing behind the list of steps. Rejected: two different plans, a repeated
//! field, a reply that ends in the middle of a text or of the list of steps, a text with two
//! readings.
//!
//! Invariant: a text of a plan may quote plans, lists, fences and calls. However the JSON is
//! broken, the result is the plan that the model wrote or an error, never a quoted plan.

pub(crate) mod choice;
mod places;
mod said;
mod tidy;

use proto::{lang::Language, limits, strict};
use serde_json::Value;

use self::places::Fragment;

messages::texts!(reply);

/// The kind of value to extract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyForm {
    /// A plan: an object with steps, or a list of them.
    Plan,
    /// A decision: an object with a status.
    Choice,
    /// A verdict whether a goal is complex.
    Verdict,
}

impl ReplyForm {
    /// Name of the field that identifies the kind.
    fn mark(self) -> &'static str {
        match self {
            Self::Plan => "steps",
            Self::Choice => "status",
            Self::Verdict => "complex",
        }
    }

    /// `true` if the value is of this kind.
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Plan => is_plan(value),
            Self::Choice | Self::Verdict => value.get(self.mark()).is_some(),
        }
    }
}

/// The reason why a reply contains no usable JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub(crate) enum NotJson {
    /// The reply has no JSON.
    Missing,
    /// JSON without the named field.
    Another(&'static str),
    /// Several different values; holds their number.
    Several(usize),
    /// The reply exceeds the size limit.
    TooLong,
    /// The reply shows an example beside a question.
    Example,
    /// The reply was cut off.
    Cut,
    /// The JSON is malformed and has several readings.
    Garbled,
    /// The JSON is malformed beyond repair; holds the parser's error.
    Malformed(String),
}

impl NotJson {
    /// Formats the error in a language.
    pub(crate) fn text(&self, language: Language) -> String {
        let text = match self {
            Self::Missing => Text::Missing,
            Self::Another(mark) => Text::Another { mark },
            Self::Several(count) => Text::Several { count },
            Self::TooLong => Text::TooLong { max: &limits::REQUEST_BYTES_MAX },
            Self::Example => Text::Example,
            Self::Cut => Text::Cut,
            Self::Garbled => Text::Garbled,
            Self::Malformed(why) => Text::Malformed { why },
        };
        text.text(language)
    }
}

/// Extracts the wanted value as the model wrote it.
///
/// # Errors
/// If the reply contains no such JSON or several, or if any JSON in it has no single reading: the
/// rest of the reply may then belong to its texts.
pub(crate) fn value(reply: &str, wanted: ReplyForm) -> Result<Value, NotJson> {
    if reply.len() > limits::REQUEST_BYTES_MAX {
        return Err(NotJson::TooLong);
    }
    let text = said::without_thoughts(reply).trim();
    if text.starts_with('"')
        && let Ok(Value::String(inner)) = strictly(text)
    {
        return value_once(&inner, wanted);
    }
    let found = places::read(text)?;
    let is_alone = found.places.len() == 1 && found.words.trim().is_empty();
    let (begins, is_empty) = (text.starts_with(['{', '[']), found.places.is_empty());
    let mut meant: Vec<Value> = Vec::new();
    for Fragment { value, is_mended } in found.places {
        // An empty list within prose is a checkbox, `[ ]`.
        let is_blank = !is_alone && value.as_array().is_some_and(Vec::is_empty);
        if is_blank || !wanted.fits(&value) {
            // A reply that begins with JSON consists of that JSON.
            if begins {
                return Err(NotJson::Another(wanted.mark()));
            }
            // Malformed JSON that is no plan may be a plan with another mistake.
            if is_mended {
                return Err(NotJson::Garbled);
            }
        } else if !meant.contains(&value) {
            meant.push(value);
        }
    }
    match (meant.len(), meant.pop()) {
        // A bare list within prose is usually something else.
        (1, Some(Value::Array(_))) if !is_alone => Err(NotJson::Another(wanted.mark())),
        (1, Some(_)) if said::only_show(&found.words) => Err(NotJson::Example),
        (1, Some(value)) => Ok(value),
        (several, Some(_)) => Err(NotJson::Several(several)),
        (_, None) if is_empty => Err(NotJson::Missing),
        (_, None) => Err(NotJson::Another(wanted.mark())),
    }
}

/// Parses a plan that is written as a JSON text, one level deep only.
fn value_once(inner: &str, wanted: ReplyForm) -> Result<Value, NotJson> {
    match strictly(inner.trim()) {
        Ok(value) if wanted.fits(&value) => Ok(value),
        Ok(_) => Err(NotJson::Another(wanted.mark())),
        Err(_) => Err(NotJson::Missing),
    }
}

fn strictly(text: &str) -> Result<Value, NotJson> {
    strict::value_from_slice(text.as_bytes()).map_err(|error| NotJson::Malformed(error.to_string()))
}

fn is_plan(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.contains_key("steps") || fields.contains_key("plan"),
        Value::Array(items) => items.iter().all(is_step),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn is_step(item: &Value) -> bool {
    match item {
        Value::String(_) => true,
        Value::Object(fields) => {
            ["description", "title", "tool", "action"].iter().any(|name| fields.contains_key(*name))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => false,
    }
}

#[cfg(test)]
mod tests;
