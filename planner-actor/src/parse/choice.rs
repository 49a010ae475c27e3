//! A model's decision in protocols that plan one action at a time: the single form of `decision`,
//! and the three of `phased`. Unknown fields are rejected by name, and so are contradictions.

use agents::draft::Misshapen;
use proto::{
    asking,
    lang::{Language, Words},
    limits,
};
use serde_json::{Map, Value};

messages::texts!(decision);

/// The phase of `phased`, which determines the form of the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The first list of items.
    Plan,
    /// The next action on the current item.
    Thought,
    /// The revised list of items.
    Replan,
}

/// A parsed decision.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Choice {
    Act {
        /// The intended items, if given.
        plan: Vec<String>,
        /// Name of the tool.
        tool: String,
        /// Input of the tool: a text or its arguments.
        input: Value,
    },
    /// A question to a person.
    Ask {
        /// The intended items, if given.
        plan: Vec<String>,
        /// The question, if the model worded it.
        question: Option<String>,
    },
    /// The goal is reached.
    Done {
        /// The answer; `None` if an earlier one is final.
        response: Option<String>,
    },
    /// A list of items, first or revised.
    Listed {
        /// Titles of the items.
        items: Vec<String>,
    },
    /// The current item is done.
    ItemDone {
        /// Result of the item, if given.
        response: Option<String>,
    },
}

/// Values of `status` in a decision.
const DECISION: [&str; 2] = ["continue", "done"];
/// Fields that do not affect the decision.
const IGNORED: &[&str] = &["thought", "phase"];

pub(crate) fn decision(value: Value) -> Result<Choice, Misshapen> {
    let mut fields = object(value)?;
    let status = status(&mut fields, &DECISION)?;
    let plan = texts(&mut fields, "plan")?;
    let action = action(&mut fields)?;
    let response = text(&mut fields, "response")?;
    none_left(&fields)?;
    match (status.as_str(), action, response) {
        ("continue", _, Some(_)) => wrong("response", Text::ResponseWhileContinue),
        ("continue", None, None) => wrong("next_action", Text::NoNextAction),
        ("continue", Some((tool, input)), None) => act(plan, tool, input),
        ("done", Some(_), _) => wrong("next_action", Text::ActionWhenDone),
        ("done", None, None) => wrong("response", Text::NoFinalAnswer),
        ("done", None, response) => Ok(Choice::Done { response }),
        _ => wrong_status(&DECISION, |words| Text::Status { words }),
    }
}

/// Parses the reply of a phase.
pub(crate) fn phased(value: Value, phase: Phase) -> Result<Choice, Misshapen> {
    let mut fields = object(value)?;
    let statuses: &[&str] = match phase {
        Phase::Plan => &["planned"],
        Phase::Thought => &["continue", "done", "ask_user"],
        Phase::Replan => &["replanned", "done"],
    };
    let status = status(&mut fields, statuses)?;
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
        | (Phase::Replan, "replanned" | "done", Some(_), _) => {
            wrong("next_action", Text::OnlyTheList)
        }
        (Phase::Plan, "planned", ..) => match items {
            Some(items) if !items.is_empty() => Ok(Choice::Listed { items }),
            Some(_) | None => wrong("plan", Text::NoItems),
        },
        (Phase::Replan, "replanned", ..) => match items {
            Some(items) if items.is_empty() => Ok(Choice::Done { response }),
            Some(items) => Ok(Choice::Listed { items }),
            None => wrong("plan", Text::NoPlan),
        },
        (Phase::Replan, "done", ..) => Ok(Choice::Done { response }),
        (Phase::Thought, "continue", Some((tool, input)), _) => match response {
            None => act(Vec::new(), tool, input),
            Some(_) => wrong("response", Text::ResponseWhileContinue),
        },
        (Phase::Thought, "continue", None, _) => wrong("next_action", Text::NoNextAction),
        (Phase::Thought, "done", None, _) => Ok(Choice::ItemDone { response }),
        (Phase::Thought, "done", Some(_), _) => wrong("next_action", Text::ActionWhenDone),
        (Phase::Thought, "ask_user", None, question) => {
            Ok(Choice::Ask { plan: Vec::new(), question })
        }
        (Phase::Thought, "ask_user", Some((tool, input)), None) if tool == asking::ASK_USER => {
            act(Vec::new(), tool, input)
        }
        (Phase::Thought, "ask_user", ..) => wrong("question", Text::NoQuestion),
        (Phase::Plan | Phase::Thought | Phase::Replan, ..) => {
            wrong_status(statuses, |words| Text::Status { words })
        }
    }
}

/// Builds an action, or a question if the action is the one that asks.
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
            wrong(".", Text::NoObject)
        }
    }
}

fn status(fields: &mut Map<String, Value>, statuses: &[&str]) -> Result<String, Misshapen> {
    match text(fields, "status")? {
        Some(status) => Ok(status),
        None => wrong_status(statuses, |words| Text::NoStatus { words }),
    }
}

/// Takes a text field; `None` if it is absent, null or empty.
fn text(fields: &mut Map<String, Value>, name: &str) -> Result<Option<String>, Misshapen> {
    match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => {
            let text = text.trim();
            Ok((!text.is_empty()).then(|| text.to_owned()))
        }
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            wrong(name, Text::NoString)
        }
    }
}

fn texts(fields: &mut Map<String, Value>, name: &str) -> Result<Vec<String>, Misshapen> {
    let items = match fields.remove(name) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
            return wrong(name, Text::NoStrings);
        }
    };
    if items.len() > limits::PLAN_STEPS_MAX {
        return wrong(name, Text::TooMany { max: &limits::PLAN_STEPS_MAX });
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
            | Value::Object(_) => wrong(format!("{name}[{n}]"), Text::Empty),
        })
        .collect()
}

fn action(fields: &mut Map<String, Value>) -> Result<Option<(String, Value)>, Misshapen> {
    let mut action = match fields.remove("next_action") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(action)) => action,
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            return wrong("next_action", Text::NoAction);
        }
    };
    let Some(Value::String(tool)) = action.remove("tool") else {
        return wrong("next_action.tool", Text::NoTool);
    };
    let input = action.remove("input").unwrap_or(Value::Null);
    if let Some(unknown) = action.keys().next() {
        let shown: String = unknown.chars().take(80).collect();
        return wrong(format!("next_action.{shown}"), Text::UnknownOfAction);
    }
    Ok(Some((tool.trim().to_owned(), input)))
}

fn none_left(fields: &Map<String, Value>) -> Result<(), Misshapen> {
    match fields.keys().find(|name| !IGNORED.contains(&name.as_str())) {
        Some(unknown) => {
            let shown: String = unknown.chars().take(80).collect();
            wrong(shown, Text::Unknown)
        }
        None => Ok(()),
    }
}

fn wrong<T>(field: impl Into<String>, why: Text<'_>) -> Result<T, Misshapen> {
    Err(Misshapen { field: field.into(), why: Words::new(|language| why.text(language)) })
}

/// Returns the error of a missing or unknown status.
fn wrong_status<T>(
    statuses: &[&str],
    why: impl for<'a> Fn(&'a String) -> Text<'a>,
) -> Result<T, Misshapen> {
    let why = |language: Language| {
        let words = match statuses {
            [before @ .., last] if !before.is_empty() => {
                let before = before.join(&Text::Comma.text(language));
                format!("{before}{}{last}", Text::Or.text(language))
            }
            one => one.concat(),
        };
        why(&words).text(language)
    };
    Err(Misshapen { field: "status".to_owned(), why: Words::new(why) })
}

#[cfg(test)]
mod tests;
