//! What a model decided, where it decides one action at a time: the one shape of `decision`, and the
//! three of `phased`. Unknown fields are refused by name, and so is what contradicts itself.

use std::borrow::Cow;

use proto::{asking, draft::Misshapen, lang::Words, limits};
use serde_json::{Map, Value};

/// Which of the three shapes of `phased` is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The list of items, once.
    Plan,
    /// What is to be done about the current item.
    Thought,
    /// The new list.
    Replan,
}

/// What was decided.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Choice {
    /// An action is wanted.
    Act {
        /// What is intended, as far as it was said.
        plan: Vec<String>,
        /// The tool.
        tool: String,
        /// Its input: words, or arguments.
        input: Value,
    },
    /// A person is to be asked.
    Ask {
        /// What is intended, as far as it was said.
        plan: Vec<String>,
        /// The question; none when it was asked without words.
        question: Option<String>,
    },
    /// The goal is reached.
    Done {
        /// The answer; none where one that was given before counts.
        response: Option<String>,
    },
    /// The items were listed, for the first time or again.
    Listed {
        /// The items.
        items: Vec<String>,
    },
    /// The current item is done.
    ItemDone {
        /// What came of it.
        response: Option<String>,
    },
}

/// Fields that say nothing about what is to be done.
const IGNORED: &[&str] = &["thought", "phase"];

/// Reads a decision.
pub(crate) fn decision(value: Value) -> Result<Choice, Misshapen> {
    let mut fields = object(value)?;
    let status = status(&mut fields, "continue or done")?;
    let plan = texts(&mut fields, "plan")?;
    let action = action(&mut fields)?;
    let response = text(&mut fields, "response")?;
    none_left(&fields)?;
    match (status.as_str(), action, response) {
        ("continue", _, Some(_)) => wrong(
            "response",
            "must be null while status is continue",
            "status 为 continue 时必须为 null",
        ),
        ("continue", None, None) => wrong(
            "next_action",
            "is missing; status continue needs the next action",
            "缺失；status 为 continue 时需要下一步行动",
        ),
        ("continue", Some((tool, input)), None) => act(plan, tool, input),
        ("done", Some(_), _) => {
            wrong("next_action", "must be null when status is done", "status 为 done 时必须为 null")
        }
        ("done", None, None) => wrong(
            "response",
            "is missing; status done needs the final answer",
            "缺失；status 为 done 时需要最终回答",
        ),
        ("done", None, response) => Ok(Choice::Done { response }),
        _ => wrong("status", "must be continue or done", "必须是 continue 或 done"),
    }
}

/// Reads what was said in a phase.
pub(crate) fn phased(value: Value, phase: Phase) -> Result<Choice, Misshapen> {
    let mut fields = object(value)?;
    let words = match phase {
        Phase::Plan => "planned",
        Phase::Thought => "continue, done or ask_user",
        Phase::Replan => "replanned or done",
    };
    let status = status(&mut fields, words)?;
    let items = match fields.contains_key("plan") {
        true => Some(texts(&mut fields, "plan")?),
        false => None,
    };
    let action = action(&mut fields)?;
    let question = text(&mut fields, "question")?;
    let response = text(&mut fields, "response")?;
    none_left(&fields)?;
    match (phase, status.as_str(), action, question) {
        (Phase::Plan, "planned", Some(_), _)
        | (Phase::Replan, "replanned" | "done", Some(_), _) => wrong(
            "next_action",
            "must be null; this is only about the list of items",
            "必须为 null；此处只涉及事项列表",
        ),
        (Phase::Plan, "planned", ..) => match items {
            Some(items) if !items.is_empty() => Ok(Choice::Listed { items }),
            Some(_) | None => {
                wrong("plan", "must be a list of at least one item", "必须是至少包含一项的列表")
            }
        },
        (Phase::Replan, "replanned", ..) => match items {
            Some(items) if items.is_empty() => Ok(Choice::Done { response }),
            Some(items) => Ok(Choice::Listed { items }),
            None => wrong(
                "plan",
                "is missing; it is empty when nothing remains",
                "缺失；没有剩余事项时应为空列表",
            ),
        },
        (Phase::Replan, "done", ..) => Ok(Choice::Done { response }),
        (Phase::Thought, "continue", Some((tool, input)), _) => match response {
            None => act(Vec::new(), tool, input),
            Some(_) => wrong(
                "response",
                "must be null while status is continue",
                "status 为 continue 时必须为 null",
            ),
        },
        (Phase::Thought, "continue", None, _) => wrong(
            "next_action",
            "is missing; status continue needs the next action",
            "缺失；status 为 continue 时需要下一步行动",
        ),
        (Phase::Thought, "done", None, _) => Ok(Choice::ItemDone { response }),
        (Phase::Thought, "done", Some(_), _) => {
            wrong("next_action", "must be null when status is done", "status 为 done 时必须为 null")
        }
        (Phase::Thought, "ask_user", None, question) => {
            Ok(Choice::Ask { plan: Vec::new(), question })
        }
        (Phase::Thought, "ask_user", Some((tool, input)), None) if tool == asking::ASK_USER => {
            act(Vec::new(), tool, input)
        }
        (Phase::Thought, "ask_user", ..) => wrong(
            "question",
            "is missing; status ask_user needs one question and no action",
            "缺失；status 为 ask_user 时需要一个问题且不带行动",
        ),
        (Phase::Plan | Phase::Thought | Phase::Replan, ..) => wrong(
            "status",
            format!("must be {words}"),
            format!("必须是 {}", words.replace(", ", "、").replace(" or ", " 或 ")),
        ),
    }
}

/// An action; the one by which a person is asked is a question.
fn act(plan: Vec<String>, tool: String, input: Value) -> Result<Choice, Misshapen> {
    if tool.strip_prefix('@').unwrap_or(&tool) != asking::ASK_USER {
        return Ok(Choice::Act { plan, tool, input });
    }
    let words = match &input {
        Value::String(words) => Some(words.as_str()),
        Value::Object(fields) => {
            ["question", "prompt"].iter().find_map(|name| fields.get(*name)?.as_str())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    };
    let words = words.map(str::trim).filter(|words| !words.is_empty());
    Ok(Choice::Ask { plan, question: words.map(str::to_owned) })
}

fn object(value: Value) -> Result<Map<String, Value>, Misshapen> {
    match value {
        Value::Object(fields) => Ok(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            wrong(".", "must be an object with a status", "必须是包含 status 的对象")
        }
    }
}

fn status(fields: &mut Map<String, Value>, words: &str) -> Result<String, Misshapen> {
    match text(fields, "status")? {
        Some(status) => Ok(status),
        None => wrong(
            "status",
            format!("is missing; it must be {words}"),
            format!("缺失；必须是 {}", words.replace(", ", "、").replace(" or ", " 或 ")),
        ),
    }
}

/// A text; nothing when it is absent, null or empty.
fn text(fields: &mut Map<String, Value>, name: &str) -> Result<Option<String>, Misshapen> {
    match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => {
            let text = text.trim();
            Ok((!text.is_empty()).then(|| text.to_owned()))
        }
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            wrong(name, "must be a text or null", "必须是文本或 null")
        }
    }
}

fn texts(fields: &mut Map<String, Value>, name: &str) -> Result<Vec<String>, Misshapen> {
    let items = match fields.remove(name) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
            return wrong(name, "must be a list of texts", "必须是文本列表");
        }
    };
    if items.len() > limits::PLAN_STEPS_MAX {
        return wrong(
            name,
            format!("must have at most {} items", limits::PLAN_STEPS_MAX),
            format!("最多 {} 项", limits::PLAN_STEPS_MAX),
        );
    }
    items
        .into_iter()
        .enumerate()
        .map(|(n, item)| match item {
            Value::String(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => wrong(format!("{name}[{n}]"), "must be a text", "必须是文本"),
        })
        .collect()
}

fn action(fields: &mut Map<String, Value>) -> Result<Option<(String, Value)>, Misshapen> {
    let mut action = match fields.remove("next_action") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(action)) => action,
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            return wrong(
                "next_action",
                "must be an object with tool and input, or null",
                "必须是包含 tool 和 input 的对象，或 null",
            );
        }
    };
    let Some(Value::String(tool)) = action.remove("tool") else {
        return wrong("next_action.tool", "must be the name of a tool", "必须是工具名称");
    };
    let input = action.remove("input").unwrap_or(Value::Null);
    if let Some(unknown) = action.keys().next() {
        let shown: String = unknown.chars().take(80).collect();
        return wrong(
            format!("next_action.{shown}"),
            "is not a field of an action; leave it out",
            "不是行动的字段；请去掉",
        );
    }
    Ok(Some((tool.trim().to_owned(), input)))
}

fn none_left(fields: &Map<String, Value>) -> Result<(), Misshapen> {
    match fields.keys().find(|name| !IGNORED.contains(&name.as_str())) {
        Some(unknown) => {
            let shown: String = unknown.chars().take(80).collect();
            wrong(shown, "is not a field of this reply; leave it out", "不是该回复的字段；请去掉")
        }
        None => Ok(()),
    }
}

fn wrong<T>(
    field: impl Into<String>,
    en: impl Into<Cow<'static, str>>,
    zh: impl Into<Cow<'static, str>>,
) -> Result<T, Misshapen> {
    Err(Misshapen { field: field.into(), why: Words::new(en, zh) })
}

#[cfg(test)]
mod tests;
