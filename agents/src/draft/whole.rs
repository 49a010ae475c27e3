//! The conversion of a draft to a plan that can run. It assigns ids, finds the tools, and checks
//! arguments and dependencies. A plan with one error is refused as a whole, with the first error.
//!
//! One omission is corrected: a step that reads `{{step1.id}}` without declaring the dependency on
//! step1 receives it, when step1 precedes the step or has completed. Every other error is reported.

use std::collections::BTreeSet;

use proto::{
    excerpt,
    id::{InvalidId, StepId},
    lang::{Language, Words},
    limits,
    plan::{Action, Plan, PlanError, Step},
    tool::ToolSpec,
};
use serde_json::{Value, json};

use super::{Draft, DraftStep};
use crate::{
    placeholder,
    toolbox::{NoTool, Toolbox},
};

messages::texts!(step);

/// A function that checks the arguments of a tool, some of which may hold placeholders.
pub type CheckArgs<'a> = &'a dyn Fn(&ToolSpec, &Value) -> Result<(), Words>;

/// The reason why a draft cannot become a plan, in words that the model can act upon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub enum Unsound {
    /// An id is invalid.
    Id {
        /// Path of the id.
        field: String,
        /// Error of the id.
        why: InvalidId,
    },
    /// A tool cannot be used.
    Tool {
        /// Step with the tool.
        step: StepId,
        /// Error of the tool's name.
        why: NoTool,
    },
    /// A step has arguments and no tool.
    NoTool(StepId),
    /// A text starts like a placeholder and is malformed.
    Malformed {
        /// Step with the text.
        step: StepId,
        /// Step that the text seems to read.
        of: StepId,
        /// Malformed text.
        written: String,
    },
    /// A placeholder reads a step that does not exist.
    NoStep {
        /// Step with the placeholder.
        step: StepId,
        /// Step that does not exist.
        on: StepId,
    },
    /// The arguments do not fit the tool.
    Args {
        /// Step with the arguments.
        step: StepId,
        /// Name of the tool.
        tool: String,
        /// Name and error of the argument.
        why: Words,
    },
    /// The plan as a whole is invalid.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

impl Unsound {
    /// Returns the description of the error in `language`.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let text = match self {
            Self::Id { field, why } => Text::Id { field, why },
            Self::Tool { step, why } => {
                return Text::Tool { step, why: &why.text(language) }.text(language);
            }
            Self::NoTool(step) => Text::NoTool { step },
            Self::Args { step, tool, why } => {
                return Text::Args { step, tool, why: &why.text(language) }.text(language);
            }
            Self::Malformed { step, of, written } => Text::Malformed { step, of, written },
            Self::NoStep { step, on } => Text::NoStep { step, on },
            Self::Plan(why) => return why.text(language),
        };
        text.text(language)
    }
}

/// The context against which a draft is checked.
pub struct Frame<'a> {
    /// Goal of the job, which becomes the title of a plan without one.
    pub goal: &'a str,
    /// Tools that the plan may use.
    pub tools: &'a Toolbox<'a>,
    /// Completed steps of earlier plans.
    pub completed: &'a BTreeSet<StepId>,
    /// Steps that stay in the plan. The new steps are added to them and may depend on them.
    pub kept: &'a BTreeSet<StepId>,
    /// All steps of earlier plans. Generated ids avoid theirs.
    pub earlier: &'a BTreeSet<StepId>,
    /// Check of the arguments.
    pub check_args: CheckArgs<'a>,
}

impl<'a> Frame<'a> {
    /// Creates the context of a first plan, with an empty `none` for every set of steps and without
    /// a check of arguments.
    #[must_use]
    pub fn bare(goal: &'a str, tools: &'a Toolbox<'a>, none: &'a BTreeSet<StepId>) -> Self {
        let check_args = &|_: &ToolSpec, _: &Value| Ok(());
        Self { goal, tools, completed: none, kept: none, earlier: none, check_args }
    }
}

/// Converts a draft to a plan.
///
/// # Errors
/// Returns the first error, in words that its author can act upon.
pub fn plan(draft: Draft, frame: &Frame<'_>) -> Result<Plan, Unsound> {
    if draft.steps.len() > limits::PLAN_STEPS_MAX {
        return Err(PlanError::TooManySteps(draft.steps.len()).into());
    }
    let ids = ids(&draft.steps, frame)?;
    let mut steps = Vec::with_capacity(ids.len());
    for (n, written) in draft.steps.into_iter().enumerate() {
        let (Some(before), Some(id)) = (ids.get(..n), ids.get(n)) else { break };
        well_formed(&written, id, &ids, frame)?;
        steps.push(step(written, id, before, frame)?);
    }
    let title = if draft.title.is_empty() { frame.goal } else { &draft.title };
    let replan = listed(&draft.replan)?;
    let title = excerpt::line(title, limits::TITLE_BYTES_MAX);
    let plan = Plan { title, steps, replan, language: draft.language };
    plan.check_beside(frame.completed, frame.kept)?;
    Ok(plan)
}

/// Returns the ids of the steps. A step without an id receives `step<n>`, where `n` is its number
/// or the next free one.
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

/// Returns the steps after which the rest is replanned.
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

/// Checks that every text of a step's arguments that resembles a placeholder can be resolved.
fn well_formed(
    written: &DraftStep,
    id: &StepId,
    ids: &[StepId],
    frame: &Frame<'_>,
) -> Result<(), Unsound> {
    let Some(args) = written.args.as_ref().filter(|_| written.tool.is_some()) else {
        return Ok(());
    };
    let is_step = |step: &StepId| {
        ids.contains(step) || frame.completed.contains(step) || frame.kept.contains(step)
    };
    let step = || id.clone();
    if let Some((of, found)) = placeholder::malformed(args).into_iter().find(|m| is_step(&m.0)) {
        let written = excerpt::ends(&found, 60);
        return Err(Unsound::Malformed { step: step(), of, written });
    }
    // Another check reports unknown dependencies.
    let declared = |read: &StepId| written.depends_on.iter().any(|on| on == read.as_str());
    let is_none = |read: &StepId| !is_step(read) && !declared(read);
    match placeholder::references(args).into_iter().find(is_none) {
        Some(on) => Err(Unsound::NoStep { step: step(), on }),
        None => Ok(()),
    }
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
