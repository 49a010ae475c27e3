//! From what a model wrote to the JSON value it meant: tolerant of everything around and inside
//! the JSON that models are known to do, and of nothing that would change what was said.
//!
//! What is tolerated: thoughts, prose and code fences around; comments, single or full-width
//! quotes and commas, unquoted names, trailing commas, line breaks in texts; missing closing
//! brackets at the very end. What is refused: two different plans, a field that is there twice, a
//! reply that ends in the middle of a text or of a step.

mod candidates;
pub(crate) mod choice;
mod repair;
mod tidy;

use proto::{lang::Language, limits, strict};
use serde_json::Value;

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

    /// Whether a value could be meant. `alone`: nothing else was said, or it stood in a fence of its
    /// own; a bare list in the middle of prose is more often something else.
    fn fits(self, value: &Value, alone: bool) -> bool {
        match self {
            Self::Plan => is_plan(value, alone),
            Self::Choice | Self::Verdict => value.get(self.mark()).is_some(),
        }
    }
}

/// Why a reply holds no JSON that could be a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotJson {
    /// Only words, or nothing at all.
    #[error("there is no JSON object in the reply; reply with the plan as one JSON object")]
    Missing,
    /// JSON without the field that is looked for.
    #[error("the JSON in the reply is not what is asked for: it has no `{0}`")]
    Another(&'static str),
    /// More than one plan.
    #[error("the reply holds {0} different plans; reply with exactly one")]
    Several(usize),
    /// Too long to be looked at.
    #[error("the reply is longer than {max} bytes", max = limits::REQUEST_BYTES_MAX)]
    TooLong,
    /// Too many brackets to be repaired without risk.
    #[error("the JSON is malformed and too large to be repaired; reply with valid JSON")]
    TooManyBrackets,
    /// Cut in the middle of something.
    #[error("the JSON ends in the middle of a step; reply with the whole plan")]
    Cut,
    /// Malformed in a way that could be read as more than one thing.
    #[error("the JSON is malformed; reply with valid JSON")]
    Garbled,
    /// Malformed beyond repair.
    #[error("the JSON cannot be read: {0}")]
    Malformed(String),
}

impl NotJson {
    /// What is wrong, in a language.
    pub(crate) fn text(&self, language: Language) -> String {
        let zh = match self {
            Self::Missing => "回复中没有 JSON 对象；请以一个 JSON 对象给出计划".to_owned(),
            Self::Another(mark) => format!("回复中的 JSON 不符合要求：缺少 `{mark}`"),
            Self::Several(n) => format!("回复中有 {n} 个不同的计划；请只给出一个"),
            Self::TooLong => format!("回复超过 {} 字节", limits::REQUEST_BYTES_MAX),
            Self::TooManyBrackets => "JSON 格式错误且过大，无法修复；请给出有效的 JSON".to_owned(),
            Self::Cut => "JSON 在步骤中间被截断；请给出完整的计划".to_owned(),
            Self::Garbled => "JSON 格式错误；请给出有效的 JSON".to_owned(),
            Self::Malformed(why) => format!("无法读取 JSON：{why}"),
        };
        match language {
            Language::En => self.to_string(),
            Language::Zh => zh,
        }
    }
}

/// What is wanted, as the model wrote it.
pub(crate) fn value(reply: &str, wanted: Wanted) -> Result<Value, NotJson> {
    if reply.len() > limits::REQUEST_BYTES_MAX {
        return Err(NotJson::TooLong);
    }
    let text = candidates::without_thoughts(reply).trim();
    let whole = text.starts_with(['{', '[', '"']).then(|| read(text));
    let unread = match whole {
        Some(Ok(Value::String(inner))) => return value_once(&inner, wanted),
        Some(Ok(value)) if wanted.fits(&value, true) => return Ok(value),
        Some(Ok(_)) => return Err(NotJson::Another(wanted.mark())),
        Some(Err(error)) => Some(error),
        None => None,
    };
    let mut plans: Vec<Value> = Vec::new();
    let fenced = candidates::fenced(text);
    let from_fences = fenced.iter().filter_map(|block| read(block).ok().map(|v| (v, true)));
    let loose = if fenced.is_empty() { candidates::balanced(text) } else { Vec::new() };
    let from_prose = loose.iter().filter_map(|span| read(span).ok().map(|v| (v, false)));
    for (value, alone) in from_fences.chain(from_prose) {
        if wanted.fits(&value, alone) && !plans.contains(&value) {
            plans.push(value);
        }
    }
    match (plans.len(), plans.pop()) {
        (1, Some(plan)) => Ok(plan),
        (0, _) | (_, None) => repaired(text, &fenced, unread, wanted),
        (several, Some(_)) => Err(NotJson::Several(several)),
    }
}

/// A plan that was written as a JSON text, once and not again inside that.
fn value_once(inner: &str, wanted: Wanted) -> Result<Value, NotJson> {
    match read(inner.trim()) {
        Ok(value) if wanted.fits(&value, true) => Ok(value),
        Ok(_) => Err(NotJson::Another(wanted.mark())),
        Err(_) => Err(NotJson::Missing),
    }
}

/// The plan in the first malformed JSON that holds one. Places are looked at one behind another and
/// never inside one another: what stands inside is not all that was said.
fn repaired(
    text: &str,
    fenced: &[&str],
    unread: Option<String>,
    wanted: Wanted,
) -> Result<Value, NotJson> {
    let text = fenced.first().copied().unwrap_or(text);
    let mut from = 0;
    let mut first_error = None;
    for _ in 0..candidates::PLACES_MAX {
        let Some(start) = candidates::start(text, from) else { break };
        let tidied = tidy::tidy(text.get(start..).unwrap_or_default());
        from = start + tidied.taken;
        match repair::repair(tidied).and_then(|json| read(&json).map_err(NotJson::Malformed)) {
            Ok(value) if wanted.fits(&value, false) => return Ok(value),
            Ok(_) => {}
            Err(error) => {
                first_error.get_or_insert(error);
            }
        }
    }
    let missing = || unread.map_or(NotJson::Missing, NotJson::Malformed);
    Err(first_error.unwrap_or_else(missing))
}

fn read(text: &str) -> Result<Value, String> {
    strict::value_from_slice(text.as_bytes()).map_err(|refused| refused.to_string())
}

fn is_plan(value: &Value, alone: bool) -> bool {
    match value {
        Value::Object(fields) => fields.contains_key("steps") || fields.contains_key("plan"),
        Value::Array(_) if alone => true,
        Value::Array(items) => {
            !items.is_empty()
                && items.iter().all(|item| {
                    item.get("description").is_some()
                        || item.get("tool").is_some()
                        || item.get("action").is_some()
                })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests;
