//! The forms in which models write plans, normalised to one. Unknown fields are refused by name: a
//! plan with a field `approve` or `budget` must not run as if the field were absent.
//!
//! The parser accepts `{task, steps:[{id, title, description, depends_on}], replan}`, `{title,
//! steps:[text | {description}], language}`, `{summary, steps:[{id, action, params, description,
//! dependsOn}]}`, the form that the prompt requests, `{"plan": …}` around any of them, and a bare
//! list of steps.

use proto::{
    lang::{Language, Words},
    policy::PlanProtocol,
};
use serde_json::{Map, Value};

messages::texts!(draft);

/// A plan as its author wrote it, before its tools and dependencies are checked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draft {
    /// Title of the plan; empty when the author gave none.
    pub title: String,
    /// Steps of the plan.
    pub steps: Vec<DraftStep>,
    /// Ids of the steps after which the rest is replanned.
    pub replan: Vec<String>,
    /// Text beside the steps: the answer to the goal, when the plan has no steps.
    pub message: Option<String>,
    /// Language that the author named; `None` for one without texts.
    pub language: Option<Language>,
}

/// A step as its author wrote it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DraftStep {
    /// Id of the step, when the author gave one.
    pub id: Option<String>,
    /// Short title; may be empty.
    pub title: String,
    /// Task of the step.
    pub description: String,
    /// Ids of the dependencies.
    pub depends_on: Vec<String>,
    /// Name of the tool; absent for a task.
    pub tool: Option<String>,
    /// Arguments of the tool, when the author gave some.
    pub args: Option<Value>,
}

/// A field with an unknown name or an invalid value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub struct Misshapen {
    /// Dotted path of the field.
    pub field: String,
    /// Error of the field.
    pub why: Words,
}

impl Misshapen {
    /// Returns the error with its field, as a text in `language`.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        Text::At { field: &self.field, why: &self.why.text(language) }.text(language)
    }
}

fn wrong<T>(field: impl Into<String>, why: Text<'_>) -> Result<T, Misshapen> {
    Err(Misshapen { field: field.into(), why: Words::new(|language| why.text(language)) })
}

const PLAN_TITLE: &[&str] = &["title", "task", "summary", "name"];
const STEP_TITLE: &[&str] = &["title", "name"];
/// Fields of the known forms that do not describe work. `of` reads some of them.
const PLAN_IGNORED: &[&str] = &["language", "message", "goal", "id"];
const STEP_DEPENDS: &[&str] = &["depends_on", "dependsOn", "depends"];
const STEP_TOOL: &[&str] = &["tool", "action"];
const STEP_ARGS: &[&str] = &["args", "params", "arguments", "input"];
const STEP_IGNORED: &[&str] = &["response", "status", "result", "success", "error", "attachments"];
/// The value of the tool's field by which models say that a step has no tool.
const NO_TOOL: &str = "agent";

/// Normalises a plan to a draft.
///
/// # Errors
/// Returns the first field that is unknown or invalid.
pub fn of(value: Value) -> Result<Draft, Misshapen> {
    match value {
        Value::Array(items) => Ok(Draft { steps: steps(items)?, ..Draft::default() }),
        Value::Object(mut fields) => match fields.remove("plan") {
            None => plan(fields),
            Some(Value::Object(inner)) => {
                only_ignored(&fields, "")?;
                let beside = language(&fields);
                plan(inner).map(|draft| Draft { language: draft.language.or(beside), ..draft })
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
        // `true` without ids means the plan as a whole: replan after the last step.
        Some(Value::Bool(true)) => {
            steps.last().and_then(|last| last.id.clone()).into_iter().collect()
        }
        Some(list) => dependencies(&list, "replan")?,
    };
    let message = match fields.get("message") {
        Some(Value::String(text)) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Some(_) | None => None,
    };
    let language = language(&fields);
    only_ignored(&fields, "")?;
    Ok(Draft { title, steps, replan, message, language })
}

/// Returns the language that a plan names. Authors spell languages in many ways, so one that has no
/// texts is no mistake.
fn language(fields: &Map<String, Value>) -> Option<Language> {
    Language::of_name(fields.get("language")?.as_str()?)
}

impl Draft {
    /// Checks the requirements of a protocol beyond those of every plan.
    ///
    /// # Errors
    /// Returns the first field that the protocol forbids, or requires and does not find.
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
    let title = first_text(&mut fields, STEP_TITLE, at)?.unwrap_or_default();
    let description = first_text(&mut fields, &["description"], at)?;
    let tool = first_text(&mut fields, STEP_TOOL, at)?.filter(|t| !t.is_empty() && t != NO_TOOL);
    let args = one_of(&mut fields, STEP_ARGS, at)?;
    let depends_on = match one_of(&mut fields, STEP_DEPENDS, at)? {
        None => Vec::new(),
        Some(list) => dependencies(&list, &format!("{at}depends_on"))?,
    };
    only_ignored(&fields, at)?;
    // A title without a description is the task of the step.
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

/// Returns a name as a text. Models write numbers too.
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
    // A plan may have several fields for its title; the first text that is not empty counts. The
    // fields for a tool must agree.
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
