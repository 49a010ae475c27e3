//! The shapes in which models write plans, brought into one. Unknown fields are refused by name:
//! a plan that says `approve` or `budget` is not run as if it had not.
//!
//! Accepted are `{task, steps:[{id, title, description, depends_on}], replan}`,
//! `{title, steps:[text | {description}], language}`,
//! `{summary, steps:[{id, action, params, description, dependsOn}]}`, the shape the prompt asks
//! for, `{"plan": …}` around any of them, and a bare list of steps.

use proto::{
    lang::{Language, Words},
    policy::PlanProtocol,
};
use serde_json::{Map, Value};

messages::texts!(draft);

/// A plan as it was written, before anything is known of tools and dependencies.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draft {
    /// What it is for; empty when nothing was said.
    pub title: String,
    /// Its steps.
    pub steps: Vec<DraftStep>,
    /// The ids of steps after which the rest is replanned.
    pub replan: Vec<String>,
    /// What was said beside the steps: the answer, when there are none.
    pub message: Option<String>,
}

/// A step as it was written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DraftStep {
    /// Its id, when it has one.
    pub id: Option<String>,
    /// A few words.
    pub title: String,
    /// What is to be done.
    pub description: String,
    /// The ids it names as dependencies.
    pub depends_on: Vec<String>,
    /// The tool it names.
    pub tool: Option<String>,
    /// The arguments it gives.
    pub args: Option<Value>,
}

/// A field that is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub struct Misshapen {
    /// The field, dotted.
    pub field: String,
    /// What is wrong with it.
    pub why: Words,
}

impl Misshapen {
    /// What is wrong, with the field.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        Text::At { field: &self.field, why: &self.why.text(language) }.text(language)
    }
}

fn wrong<T>(field: impl Into<String>, why: Text<'_>) -> Result<T, Misshapen> {
    Err(Misshapen { field: field.into(), why: Words::new(|language| why.text(language)) })
}

const PLAN_TITLE: &[&str] = &["title", "task", "summary"];
/// Fields of the known shapes that say nothing about what is to be done.
const PLAN_IGNORED: &[&str] = &["language", "message", "goal", "id"];
const STEP_DEPENDS: &[&str] = &["depends_on", "dependsOn", "depends"];
const STEP_TOOL: &[&str] = &["tool", "action"];
const STEP_ARGS: &[&str] = &["args", "params", "arguments", "input"];
const STEP_IGNORED: &[&str] = &["response", "status", "result", "success", "error", "attachments"];
/// The word models write for "no tool" where a tool is asked for.
const NO_TOOL: &str = "agent";

/// Brings a plan into the one shape.
///
/// # Errors
/// The first field that is unknown, or not as it must be.
pub fn of(value: Value) -> Result<Draft, Misshapen> {
    match value {
        Value::Array(items) => Ok(Draft { steps: steps(items)?, ..Draft::default() }),
        Value::Object(mut fields) => match fields.remove("plan") {
            None => plan(fields),
            Some(Value::Object(inner)) => {
                only_ignored(&fields, "")?;
                plan(inner)
            }
            Some(Value::Array(items)) => {
                fields.insert("steps".to_owned(), Value::Array(items));
                plan(fields)
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                wrong("plan", Text::NoPlan)
            }
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            wrong(".", Text::NoPlan)
        }
    }
}

fn plan(mut fields: Map<String, Value>) -> Result<Draft, Misshapen> {
    let steps = match fields.remove("steps") {
        Some(Value::Array(items)) => steps(items)?,
        Some(_) => return wrong("steps", Text::NoSteps),
        None => return wrong("steps", Text::Missing),
    };
    let title = first_text(&mut fields, PLAN_TITLE, "")?.unwrap_or_default();
    let replan = match fields.remove("replan") {
        None | Some(Value::Null | Value::Bool(false)) => Vec::new(),
        // A yes without ids is said of the plan as a whole: when its last step is done.
        Some(Value::Bool(true)) => {
            steps.last().and_then(|last| last.id.clone()).into_iter().collect()
        }
        Some(list) => dependencies(&list, "replan")?,
    };
    let message = match fields.get("message") {
        Some(Value::String(text)) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Some(_) | None => None,
    };
    only_ignored(&fields, "")?;
    Ok(Draft { title, steps, replan, message })
}

impl Draft {
    /// Checks what a protocol demands beyond what every plan must have.
    ///
    /// # Errors
    /// The first field that its protocol does not allow, or demands and does not find.
    pub fn check(&self, protocol: PlanProtocol) -> Result<(), Misshapen> {
        let at = |n: usize, field: &str| format!("steps[{n}].{field}");
        let with_tool = || self.steps.iter().position(|step| step.tool.is_some());
        match protocol {
            PlanProtocol::TaskSteps if self.title.is_empty() => wrong("task", Text::NoPurpose),
            PlanProtocol::TaskSteps | PlanProtocol::TitleSteps => {
                with_tool().map_or(Ok(()), |n| wrong(at(n, "tool"), Text::CallsATool))
            }
            PlanProtocol::ActionSteps => {
                let without = self.steps.iter().position(|step| step.tool.is_none());
                without.map_or(Ok(()), |n| wrong(at(n, "action"), Text::CallsNoTool))
            }
            PlanProtocol::Steps
            | PlanProtocol::Decision
            | PlanProtocol::Phased
            | PlanProtocol::InlineTools => Ok(()),
        }
    }
}

fn only_ignored(fields: &Map<String, Value>, at: &str) -> Result<(), Misshapen> {
    let ignored = if at.is_empty() { PLAN_IGNORED } else { STEP_IGNORED };
    match fields.keys().find(|name| !ignored.contains(&name.as_str())) {
        Some(unknown) => {
            let shown: String = unknown.chars().take(80).collect();
            wrong(format!("{at}{shown}"), Text::Unknown)
        }
        None => Ok(()),
    }
}

fn steps(items: Vec<Value>) -> Result<Vec<DraftStep>, Misshapen> {
    items
        .into_iter()
        .enumerate()
        .map(|(n, item)| match item {
            Value::String(description) => {
                Ok(DraftStep { description: description.trim().to_owned(), ..DraftStep::default() })
            }
            Value::Object(fields) => step(fields, &format!("steps[{n}].")),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                wrong(format!("steps[{n}]"), Text::NoStep)
            }
        })
        .collect()
}

fn step(mut fields: Map<String, Value>, at: &str) -> Result<DraftStep, Misshapen> {
    let id = match fields.remove("id") {
        None | Some(Value::Null) => None,
        Some(id) => Some(name(&id).map_or_else(|| wrong(format!("{at}id"), Text::NoString), Ok)?),
    };
    let title = first_text(&mut fields, &["title"], at)?.unwrap_or_default();
    let description = first_text(&mut fields, &["description"], at)?;
    let tool = first_text(&mut fields, STEP_TOOL, at)?.filter(|t| !t.is_empty() && t != NO_TOOL);
    let args = one_of(&mut fields, STEP_ARGS, at)?;
    let depends_on = match one_of(&mut fields, STEP_DEPENDS, at)? {
        None => Vec::new(),
        Some(list) => dependencies(&list, &format!("{at}depends_on"))?,
    };
    only_ignored(&fields, at)?;
    // A title alone says what is to be done.
    let description = description.filter(|d| !d.is_empty()).unwrap_or_else(|| title.clone());
    Ok(DraftStep { id, title, description, depends_on, tool, args })
}

fn dependencies(list: &Value, at: &str) -> Result<Vec<String>, Misshapen> {
    let items = match list {
        Value::Array(items) => items.as_slice(),
        one @ (Value::String(_) | Value::Number(_)) => std::slice::from_ref(one),
        Value::Null | Value::Bool(_) | Value::Object(_) => {
            return wrong(at, Text::NoStepIds);
        }
    };
    items
        .iter()
        .enumerate()
        .map(|(n, item)| name(item).map_or_else(|| wrong(format!("{at}[{n}]"), Text::NoStepId), Ok))
        .collect()
}

/// A name as a text; models write numbers too.
fn name(value: &Value) -> Option<String> {
    match value {
        Value::String(name) => Some(name.trim().to_owned()),
        Value::Number(number) if number.is_u64() => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}

fn first_text(
    fields: &mut Map<String, Value>,
    names: &[&str],
    at: &str,
) -> Result<Option<String>, Misshapen> {
    // Several words for the title of a plan may stand side by side; the first that says something
    // counts. For a tool they must agree.
    let mut found: Option<String> = None;
    for name in names {
        match fields.remove(*name) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => {
                let text = text.trim();
                if let Some(before) = &found
                    && names == STEP_TOOL
                    && before != text
                {
                    return wrong(format!("{at}{name}"), Text::Contradicts { name: &names[0] });
                }
                if found.as_ref().is_none_or(String::is_empty) {
                    found = Some(text.to_owned());
                }
            }
            Some(_) => return wrong(format!("{at}{name}"), Text::NoString),
        }
    }
    Ok(found)
}

fn one_of(
    fields: &mut Map<String, Value>,
    names: &[&str],
    at: &str,
) -> Result<Option<Value>, Misshapen> {
    let mut found: Option<Value> = None;
    for name in names {
        match fields.remove(*name) {
            None | Some(Value::Null) => {}
            Some(value) if found.as_ref().is_some_and(|before| *before != value) => {
                return wrong(format!("{at}{name}"), Text::Twice);
            }
            Some(value) => found = Some(value),
        }
    }
    Ok(found)
}
