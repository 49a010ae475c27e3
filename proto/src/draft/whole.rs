//! From a draft to a plan that can be run: ids given, tools found, arguments checked, dependencies
//! whole. A plan that is not whole is refused as a whole, with the first thing that is wrong.
//!
//! One thing is mended: a step that reads `{{step1.id}}` and forgot to say that it depends on
//! step1 is made to, when step1 stands before it or has completed. Everything else is told.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Draft, DraftStep};
use crate::{
    excerpt,
    id::{InvalidId, StepId},
    limits, placeholder,
    plan::{Action, Plan, PlanError, Step},
    tool::ToolSpec,
    toolbox::{NoTool, Toolbox},
};

/// Says what is wrong with a tool's arguments, some of which may hold placeholders.
pub type CheckArgs<'a> = &'a dyn Fn(&ToolSpec, &Value) -> Result<(), String>;

/// Why a draft is no plan, in words the model can act upon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsound {
    /// An id that is none.
    #[error("{field}: {why}")]
    Id {
        /// Where it stands.
        field: String,
        /// What is wrong with it.
        why: InvalidId,
    },
    /// A tool that cannot be used.
    #[error("step {step}: {why}")]
    Tool {
        /// The step.
        step: StepId,
        /// What is wrong with it.
        why: NoTool,
    },
    /// Arguments without a tool.
    #[error("step {0} has arguments but names no tool")]
    NoTool(StepId),
    /// Arguments that do not fit.
    #[error("step {step}: the arguments of {tool} do not fit: {why}")]
    Args {
        /// The step.
        step: StepId,
        /// The tool.
        tool: String,
        /// The argument and what is wrong with it.
        why: String,
    },
    /// The plan as a whole.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// What a draft is measured against.
pub struct Frame<'a> {
    /// The job's goal, which names a plan that has no title.
    pub goal: &'a str,
    /// The tools.
    pub tools: &'a Toolbox<'a>,
    /// Steps of earlier plans that have completed.
    pub completed: &'a BTreeSet<StepId>,
    /// Steps that stay in the plan: the new ones are added to them and may depend on them.
    pub kept: &'a BTreeSet<StepId>,
    /// All steps of earlier plans: none of their ids is given to a step that has none.
    pub earlier: &'a BTreeSet<StepId>,
    /// The check of arguments.
    pub check_args: CheckArgs<'a>,
}

/// Makes a plan of a draft.
///
/// # Errors
/// The first thing that is wrong, in words that whoever wrote it can act upon.
pub fn plan(draft: Draft, frame: &Frame<'_>) -> Result<Plan, Unsound> {
    if draft.steps.len() > limits::PLAN_STEPS_MAX {
        return Err(PlanError::TooManySteps(draft.steps.len()).into());
    }
    let ids = ids(&draft.steps, frame)?;
    let mut steps = Vec::with_capacity(ids.len());
    for (n, written) in draft.steps.into_iter().enumerate() {
        let (Some(before), Some(id)) = (ids.get(..n), ids.get(n)) else { break };
        steps.push(step(written, id, before, frame)?);
    }
    let title = if draft.title.is_empty() { frame.goal } else { &draft.title };
    let replan = listed(&draft.replan)?;
    let plan = Plan { title: excerpt::line(title, limits::TITLE_BYTES_MAX), steps, replan };
    plan.check_beside(frame.completed, frame.kept)?;
    Ok(plan)
}

/// The ids of the steps: those that were given, and `step<n>` for the others, where `n` is the place
/// of the step or the next number that is free.
pub(super) fn ids(steps: &[DraftStep], frame: &Frame<'_>) -> Result<Vec<StepId>, Unsound> {
    let mut taken: BTreeSet<_> = frame.completed.union(frame.earlier).cloned().collect();
    let mut given = Vec::with_capacity(steps.len());
    for (n, step) in steps.iter().enumerate() {
        let id = match &step.id {
            None => None,
            Some(id) => Some(step_id(id, || format!("steps[{n}].id"))?),
        };
        taken.extend(id.clone());
        given.push(id);
    }
    let mut next = 0usize;
    given
        .into_iter()
        .enumerate()
        .map(|(n, id)| match id {
            Some(id) => Ok(id),
            None => {
                next = next.max(n + 1);
                loop {
                    let id = step_id(&format!("step{next}"), || format!("steps[{n}].id"))?;
                    next += 1;
                    if taken.insert(id.clone()) {
                        return Ok(id);
                    }
                }
            }
        })
        .collect()
}

/// The steps after which the rest is to be planned anew.
pub(super) fn listed(ids: &[String]) -> Result<Vec<StepId>, Unsound> {
    let ids = ids.iter().enumerate();
    ids.map(|(n, id)| step_id(id, || format!("replan[{n}]"))).collect()
}

fn step_id(id: &str, field: impl FnOnce() -> String) -> Result<StepId, Unsound> {
    StepId::new(id).map_err(|why| Unsound::Id { field: field(), why })
}

pub(super) fn step(
    written: DraftStep,
    id: &StepId,
    before: &[StepId],
    frame: &Frame<'_>,
) -> Result<Step, Unsound> {
    let DraftStep { id: _, title, description, depends_on, tool, args } = written;
    let mut declared = Vec::with_capacity(depends_on.len());
    for on in &depends_on {
        let on = step_id(on, || format!("step {id}: depends_on"))?;
        if !declared.contains(&on) {
            declared.push(on);
        }
    }
    let action = match tool {
        Some(name) => {
            let args = args.unwrap_or_else(|| json!({}));
            let tool =
                frame.tools.find(&name).map_err(|why| Unsound::Tool { step: id.clone(), why })?;
            for read in placeholder::references(&args) {
                if declared.contains(&read) {
                    continue;
                }
                let is_there = [frame.completed, frame.kept].iter().any(|ids| ids.contains(&read));
                if !before.contains(&read) && !is_there {
                    return Err(PlanError::Undeclared { step: id.clone(), on: read }.into());
                }
                declared.push(read);
            }
            (frame.check_args)(tool, &args).map_err(|why| Unsound::Args {
                step: id.clone(),
                tool: tool.name.to_string(),
                why,
            })?;
            Action::Tool { tool: tool.name.clone(), args, binding: tool.binding() }
        }
        None if args.as_ref().is_some_and(has_content) => {
            return Err(Unsound::NoTool(id.clone()));
        }
        None => Action::Agent,
    };
    Ok(Step { id: id.clone(), title, description, depends_on: declared, action })
}

fn has_content(args: &Value) -> bool {
    match args {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Null => false,
        Value::Bool(_) | Value::Number(_) => true,
    }
}
