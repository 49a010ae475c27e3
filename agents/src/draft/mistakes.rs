//! All errors of a draft with their places, for a user who corrects them at once. A model receives
//! only the first error. No error is corrected here.

use proto::{
    id::StepId,
    plan::{Action, Plan, PlanError, Step},
};

use super::{
    Draft, Frame, Unsound,
    whole::{self, listed, step},
};

/// Maximum number of reported errors. The others are reported once these are corrected.
const MISTAKES_MAX: usize = 20;

/// Returns the errors of a draft in the order of its steps, each with its field (`steps[0].tool`);
/// empty when [`super::plan`] accepts the draft.
#[must_use]
pub fn mistakes(draft: &Draft, frame: &Frame<'_>) -> Vec<(String, Unsound)> {
    let Err(first) = whole::plan(draft.clone(), frame) else { return Vec::new() };
    // Without ids, the dependencies cannot be checked.
    let (Ok(ids), Ok(replan)) = (whole::ids(&draft.steps, frame), listed(&draft.replan)) else {
        return vec![(of_the_whole(&first, &[]), first)];
    };
    let (mut found, mut steps) = (Vec::new(), Vec::new());
    for (n, written) in draft.steps.iter().enumerate() {
        let (Some(before), Some(id)) = (ids.get(..n), ids.get(n)) else { break };
        match step(written.clone(), id, before, frame) {
            Ok(whole) => steps.push(whole),
            Err(unsound) => {
                found.push((format!("steps[{n}]{}", inside(&unsound)), unsound));
                let depends_on = written.depends_on.iter();
                steps.push(Step {
                    id: id.clone(),
                    title: written.title.clone(),
                    description: written.description.clone(),
                    depends_on: depends_on.filter_map(|on| StepId::new(on).ok()).collect(),
                    action: Action::Agent,
                });
            }
        }
    }
    let mut plan = Plan { title: draft.title.clone(), steps, replan, language: None };
    while found.len() < MISTAKES_MAX {
        let Err(wrong) = plan.check_beside(frame.completed, frame.kept) else { break };
        let goes_on = without(&mut plan, &wrong);
        let unsound = Unsound::from(wrong);
        found.push((of_the_whole(&unsound, &plan.steps), unsound));
        if !goes_on {
            break;
        }
    }
    if found.is_empty() {
        found.push((of_the_whole(&first, &plan.steps), first));
    }
    found.sort_by_key(|(field, _)| place(field));
    found
}

/// Returns the number of the step that a field belongs to. Fields of the whole plan sort last.
fn place(field: &str) -> usize {
    let number = field.strip_prefix("steps[").and_then(|rest| rest.split(']').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(usize::MAX)
}

/// Returns the part of a step that an error is about.
fn inside(unsound: &Unsound) -> &'static str {
    match unsound {
        Unsound::Id { .. } => ".depends_on",
        Unsound::Tool { .. } => ".tool",
        Unsound::NoTool(_)
        | Unsound::Args { .. }
        | Unsound::Malformed { .. }
        | Unsound::NoStep { .. } => ".args",
        Unsound::Plan(wrong) => of_a_step(wrong).map_or("", |(_, part)| part),
    }
}

/// Returns the step that an error of a plan is about, and the part of the step.
fn of_a_step(wrong: &PlanError) -> Option<(&StepId, &'static str)> {
    match wrong {
        PlanError::DuplicateId(step) | PlanError::Completed(step) | PlanError::Kept(step) => {
            Some((step, ".id"))
        }
        PlanError::Dangling { step, .. }
        | PlanError::SelfDependency(step)
        | PlanError::TooManyDependencies(step) => Some((step, ".depends_on")),
        PlanError::NoDescription(step) => Some((step, ".description")),
        PlanError::TooLong { step, .. } => Some((step, "")),
        PlanError::Undeclared { step, .. } => Some((step, ".args")),
        PlanError::Empty
        | PlanError::TooManySteps(_)
        | PlanError::Replan(_)
        | PlanError::Cycle(_) => None,
    }
}

fn of_the_whole(unsound: &Unsound, steps: &[Step]) -> String {
    match unsound {
        Unsound::Id { field, .. } => field.clone(),
        Unsound::Plan(PlanError::Replan(_)) => "replan".to_owned(),
        Unsound::Plan(wrong) => of_a_step(wrong)
            .and_then(|(id, part)| {
                let n = steps.iter().rposition(|step| step.id == *id)?;
                Some(format!("steps[{n}]{part}"))
            })
            .unwrap_or_else(|| "steps".to_owned()),
        Unsound::Tool { .. }
        | Unsound::NoTool(_)
        | Unsound::Args { .. }
        | Unsound::Malformed { .. }
        | Unsound::NoStep { .. } => "steps".to_owned(),
    }
}

/// Removes the cause of an error, so that further errors can be found. Returns whether that was
/// possible.
fn without(plan: &mut Plan, wrong: &PlanError) -> bool {
    let mut of = |id: &StepId, change: &dyn Fn(&mut Step)| {
        plan.steps.iter_mut().filter(|step| step.id == *id).for_each(change);
        true
    };
    match wrong {
        PlanError::Dangling { step, on } => of(step, &|step| step.depends_on.retain(|d| d != on)),
        PlanError::SelfDependency(id) => of(id, &|step| step.depends_on.retain(|d| d != id)),
        PlanError::TooManyDependencies(id) => of(id, &|step| step.depends_on.clear()),
        PlanError::NoDescription(id) | PlanError::TooLong { step: id, .. } => of(id, &|step| {
            (step.title, step.description) = (String::new(), "?".to_owned());
        }),
        PlanError::Replan(id) => {
            plan.replan.retain(|listed| listed != id);
            true
        }
        PlanError::Empty
        | PlanError::TooManySteps(_)
        | PlanError::DuplicateId(_)
        | PlanError::Completed(_)
        | PlanError::Kept(_)
        | PlanError::Cycle(_)
        | PlanError::Undeclared { .. } => false,
    }
}
