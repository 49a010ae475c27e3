//! From a draft to a plan that can be run: ids given, tools found, arguments checked, dependencies
//! whole. A plan that is not whole is refused as a whole, with the first thing that is wrong.
//!
//! One thing is mended: a step that reads `{{step1.id}}` and forgot to say that it depends on
//! step1 is made to, when step1 stands before it or has completed. Everything else is told.

use std::collections::BTreeSet;

use proto::{
    excerpt,
    id::{InvalidId, StepId},
    lang::Language,
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

/// Says what is wrong with a tool's arguments, some of which may hold placeholders.
pub type CheckArgs<'a> = &'a dyn Fn(&ToolSpec, &Value) -> Result<(), String>;

/// Why a draft cannot become a plan, in words the model can act upon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub enum Unsound {
    /// An id that is not valid.
    Id {
        /// Where it stands.
        field: String,
        /// What is wrong with it.
        why: InvalidId,
    },
    /// A tool that cannot be used.
    Tool {
        /// The step.
        step: StepId,
        /// What is wrong with it.
        why: NoTool,
    },
    /// Arguments without a tool.
    NoTool(StepId),
    /// A text that begins like a path into a step's result without being one.
    Malformed {
        /// The step.
        step: StepId,
        /// The step it seems to read.
        of: StepId,
        /// What is written there.
        written: String,
    },
    /// A placeholder for the result of a step that does not exist.
    NoStep {
        /// The step.
        step: StepId,
        /// What it reads.
        on: StepId,
    },
    /// Arguments that do not fit.
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

impl Unsound {
    /// What is wrong, in a language.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let text = match self {
            Self::Id { field, why } => Text::Id { field, why },
            Self::Tool { step, why } => {
                return Text::Tool { step, why: &why.text(language) }.text(language);
            }
            Self::NoTool(step) => Text::NoTool { step },
            Self::Args { step, tool, why } => Text::Args { step, tool, why },
            Self::Malformed { step, of, written } => Text::Malformed { step, of, written },
            Self::NoStep { step, on } => Text::NoStep { step, on },
            Self::Plan(why) => return why.text(language),
        };
        text.text(language)
    }
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

impl<'a> Frame<'a> {
    /// What a first plan is measured against: `none` came before it, and arguments are not checked.
    #[must_use]
    pub fn bare(goal: &'a str, tools: &'a Toolbox<'a>, none: &'a BTreeSet<StepId>) -> Self {
        let check_args = &|_: &ToolSpec, _: &Value| Ok(());
        Self { goal, tools, completed: none, kept: none, earlier: none, check_args }
    }
}

/// Makes a plan of a draft.
///
/// # Errors
/// The first defect, in words that its author can act upon.
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

/// The steps after which the rest is replanned.
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

/// Whether everything of a step's arguments that looks like it reads the result of a step can be read.
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
    // An unknown dependency is reported as such.
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
