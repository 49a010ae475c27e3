//! What changed from one look at a job to the next: its plan, its steps, where it stands.

use std::collections::BTreeMap;

use super::message::message;
use proto::{
    event::{
        ErrorEvent, ErrorScope, Happened, JobEvent, PlanEvent, PlanPhase, PlannedStep, StepEvent,
        StepPhase, Stream,
    },
    id::StepId,
    job::{Outcome, SubStatus},
    step::StepState,
    view::{JobView, PlanView, StepView},
};

/// The plan, when it is another one than the one that was told of last.
pub(super) fn plan(
    before: Option<&JobView>,
    was: Option<&PlanView>,
    after: &JobView,
) -> Option<PlanEvent> {
    let phase = match (was, &after.plan) {
        (_, None) => return None,
        (None, Some(_)) => PlanPhase::Created,
        (Some(was), Some(is)) => {
            let done = matches!(after.outcome, Some(Outcome::Completed { .. }));
            let outline = before.map(|view| view.outline.as_slice()).unwrap_or_default();
            if done && before.is_some_and(|view| view.outcome.is_none()) {
                PlanPhase::Completed
            } else if same(was, is) && outline == after.outline {
                return None;
            } else {
                PlanPhase::Updated
            }
        }
    };
    let plan = after.plan.as_ref()?;
    Some(PlanEvent {
        phase,
        title: plan.title.clone(),
        revision: plan.revision,
        confirmed: plan.confirmed,
        steps: plan.steps.iter().map(planned).collect(),
        outline: after.outline.clone(),
    })
}

fn planned(step: &StepView) -> PlannedStep {
    PlannedStep {
        id: step.id.clone(),
        title: step.title.clone(),
        description: step.description.clone(),
        depends_on: step.depends_on.clone(),
        tool: step.tool.clone(),
        state: step.state,
        outline: step.outline.clone(),
    }
}

/// Whether two plans are the same but for how their steps stand.
fn same(was: &PlanView, is: &PlanView) -> bool {
    let head = |plan: &PlanView| (plan.revision, plan.confirmed);
    head(was) == head(is)
        && was.title == is.title
        && was.steps.len() == is.steps.len()
        && was.steps.iter().zip(&is.steps).all(|(a, b)| {
            a.id == b.id
                && a.title == b.title
                && a.description == b.description
                && a.depends_on == b.depends_on
                && a.tool == b.tool
                && a.outline == b.outline
        })
}

/// A step's id, and how many of that id come before it: one that failed may be planned again.
type Key<'a> = (&'a StepId, usize);

fn keyed(view: Option<&JobView>) -> BTreeMap<Key<'_>, (usize, &StepView)> {
    let mut times: BTreeMap<&StepId, usize> = BTreeMap::new();
    let steps = view.and_then(|view| view.plan.as_ref()).into_iter().flat_map(|plan| &plan.steps);
    let mut keyed = BTreeMap::new();
    for (place, step) in steps.enumerate() {
        let time = times.entry(&step.id).or_default();
        keyed.insert((&step.id, *time), (place, step));
        *time += 1;
    }
    keyed
}

/// Steps that went on, in the order of the plan; then those that are in no plan any more.
pub(super) fn steps(before: Option<&JobView>, after: &JobView, events: &mut Vec<Happened>) {
    let (was, is) = (keyed(before), keyed(Some(after)));
    let mut went: Vec<(usize, StepPhase, &StepView)> = is
        .iter()
        .filter_map(|(key, (place, step))| {
            let before = was.get(key).map(|(_, step)| *step);
            Some((*place, went_on(before, step)?, *step))
        })
        .collect();
    went.sort_by_key(|(place, ..)| *place);
    let dropped = was.iter().filter(|(key, (_, step))| {
        !is.contains_key(*key) && step.attempts > 0 && !step.state.is_terminal()
    });
    let mut dropped: Vec<_> = dropped.map(|(_, gone)| *gone).collect();
    dropped.sort_by_key(|(place, _)| *place);
    went.extend(dropped.into_iter().map(|(place, step)| (place, StepPhase::Skipped, step)));
    events.extend(went.into_iter().map(|(_, phase, step)| {
        let label = if step.title.is_empty() { &step.description } else { &step.title };
        Happened::Step(StepEvent {
            phase,
            step: step.id.clone(),
            label: label.clone(),
            attempt: step.attempts,
            response: step.response.clone().filter(|_| step.state.is_terminal()),
            unsuccessful: step.state == StepState::Completed && step.success == Some(false),
            attachments: step.attachments.clone(),
        })
    }));
}

fn went_on(was: Option<&StepView>, is: &StepView) -> Option<StepPhase> {
    let before = was.map(|was| was.state);
    // Another run of the same step is told as such, whatever it waited for in between.
    let again = was.is_some_and(|was| was.attempts > 0 && is.attempts > was.attempts);
    if before == Some(is.state) && !again {
        return None;
    }
    match is.state {
        StepState::Pending | StepState::Ready => None,
        StepState::Running if again => Some(StepPhase::Retried),
        StepState::Running if before == Some(StepState::Waiting) => {
            let begun = was.is_some_and(|was| was.attempts > 0);
            Some(if begun { StepPhase::Resumed } else { StepPhase::Started })
        }
        StepState::Running => Some(StepPhase::Started),
        StepState::Waiting if before == Some(StepState::Waiting) => None,
        StepState::Waiting => Some(StepPhase::Waiting),
        StepState::Completed => Some(StepPhase::Completed),
        StepState::Failed => Some(StepPhase::Failed),
        StepState::Blocked => Some(StepPhase::Blocked),
        StepState::Skipped => Some(StepPhase::Skipped),
        StepState::Canceled => Some(StepPhase::Canceled),
    }
}

/// Whether the job cannot go past this record.
pub(super) fn newly_poisoned(before: Option<&JobView>, after: &JobView) -> bool {
    let poisoned = |view: &JobView| view.sub_status == Some(SubStatus::Poisoned);
    poisoned(after) && !before.is_some_and(poisoned)
}

/// The final answer, or the reason why the job failed or waits.
pub(super) fn ended(before: Option<&JobView>, after: &JobView, events: &mut Vec<Happened>) {
    let error = |scope, message: &str, reason: Option<&str>| {
        Happened::Error(ErrorEvent {
            scope,
            message: message.to_owned(),
            reason: reason.map(str::to_owned),
            work: None,
            attempt: None,
            step: None,
        })
    };
    if before.is_none_or(|view| view.outcome.is_none()) {
        match &after.outcome {
            Some(Outcome::Completed { summary, .. }) => {
                message(Stream::Result, None, None, summary, events);
            }
            Some(Outcome::Failed { reason, message, .. }) => {
                events.push(error(ErrorScope::Job, message, Some(reason.as_str())));
            }
            Some(Outcome::Canceled { .. }) | None => {}
        }
    }
    // One that waits for a person, here or below, has told so with the question.
    let asks = |view: &JobView| {
        !view.questions.is_empty() || view.children.iter().any(|child| !child.questions.is_empty())
    };
    let given_up = |view: &JobView| view.sub_status == Some(SubStatus::Parked) && !asks(view);
    let stands = given_up(after) && !before.is_some_and(given_up);
    if newly_poisoned(before, after) || stands {
        let why = after.reason.as_deref().unwrap_or_default();
        let word = if stands { "given_up" } else { "poisoned" };
        events.push(error(ErrorScope::Parked, why, Some(word)));
    }
}

/// Where the job stands, when that is elsewhere than before.
pub(super) fn job(before: Option<&JobView>, after: &JobView) -> Option<JobEvent> {
    let stands = |view: &JobView| (view.state, view.sub_status);
    if before.map(stands) == Some(stands(after)) {
        return None;
    }
    let reason = match &after.outcome {
        Some(Outcome::Canceled { reason }) => reason.clone(),
        Some(Outcome::Completed { .. } | Outcome::Failed { .. }) => None,
        None => after.reason.clone(),
    };
    Some(JobEvent {
        state: after.state,
        sub_status: after.sub_status,
        reason,
        goal: before.is_none().then(|| after.goal.clone()),
    })
}
