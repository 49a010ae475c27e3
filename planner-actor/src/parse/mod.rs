//! From what a model wrote to the JSON value it meant: tolerant of everything around and inside
//! the JSON that models are known to do, and of nothing that would change what was said.
//!
//! What is tolerated: thoughts, prose and code fences around; comments, single or full-width
//! quotes and commas, unquoted names, trailing commas, line breaks in texts; missing closing
//! brackets at the very end. What is refused: two different plans, a field that is there twice, a
//! reply that ends in the middle of a text or of a step, a text with two readings.
//!
//! Invariant: a text of a plan may quote plans, lists, fences and calls. However it is broken, the
//! result is the plan that was written or a refusal, never what it quotes.

pub(crate) mod choice;
mod places;
mod said;
mod tidy;

use proto::{lang::Language, limits, strict};
use serde_json::Value;

use self::places::Place;

messages::texts!(reply);

/// What is looked for in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A plan: an object with steps, or a list of them.
    Plan,
    /// What was decided: an object with a status.
    Choice,
    /// Whether a goal is complex.
    Verdict,
}

impl Wanted {
    /// The field that tells it from other JSON.
    fn mark(self) -> &'static str {
        match self {
            Self::Plan => "steps",
            Self::Choice => "status",
            Self::Verdict => "complex",
        }
    }

    /// The value has the shape that is looked for.
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Plan => is_plan(value),
            Self::Choice | Self::Verdict => value.get(self.mark()).is_some(),
        }
    }
}

/// Why a reply holds no JSON that could be a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub(crate) enum NotJson {
    /// Only words, or nothing at all.
    Missing,
    /// JSON without the field that is looked for.
    Another(&'static str),
    /// More than one plan.
    Several(usize),
    /// Too long to be looked at.
    TooLong,
    /// An example beside a question.
    Example,
    /// Cut in the middle of something.
    Cut,
    /// Malformed in a way that could be read as more than one thing.
    Garbled,
    /// Malformed beyond repair.
    Malformed(String),
}

impl NotJson {
    /// What is wrong, in a language.
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

/// What is wanted, as the model wrote it.
///
/// # Errors
/// When the reply has no such JSON or several, or when any JSON in it has no single reading: the rest
/// of the reply may then be part of its texts.
pub(crate) fn value(reply: &str, wanted: Wanted) -> Result<Value, NotJson> {
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
    for Place { value, is_mended } in found.places {
        // An empty list beside words is a box to tick, `[ ]`.
        let is_blank = !is_alone && value.as_array().is_some_and(Vec::is_empty);
        if is_blank || !wanted.fits(&value) {
            // A reply that begins as JSON is that JSON.
            if begins {
                return Err(NotJson::Another(wanted.mark()));
            }
            // Malformed JSON without a plan may be a plan that is broken otherwise.
            if is_mended {
                return Err(NotJson::Garbled);
            }
        } else if !meant.contains(&value) {
            meant.push(value);
        }
    }
    match (meant.len(), meant.pop()) {
        // A bare list beside words is more often something else.
        (1, Some(Value::Array(_))) if !is_alone => Err(NotJson::Another(wanted.mark())),
        (1, Some(_)) if said::only_show(&found.words) => Err(NotJson::Example),
        (1, Some(value)) => Ok(value),
        (several, Some(_)) => Err(NotJson::Several(several)),
        (_, None) if is_empty => Err(NotJson::Missing),
        (_, None) => Err(NotJson::Another(wanted.mark())),
    }
}

/// A plan that was written as a JSON text, once and not again inside that.
fn value_once(inner: &str, wanted: Wanted) -> Result<Value, NotJson> {
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
