//! The difference that a record makes to a job's plan, steps and state.

use std::collections::BTreeMap;

use proto::{
    event::{
        ErrorEvent, ErrorScope, Happened, JobEvent, PlanEvent, PlanPhase, PlannedStep, StepEvent,
        StepPhase, Stream,
    },
    excerpt,
    id::StepId,
    job::Outcome,
    limits,
    step::StepState,
};
use serde_json::Value;

use super::{
    look::{Look, PlanLook, StepLook, tool},
    memory::{Before, ToldPlan, ToldStep},
    message::message,
};

/// Returns the event of the plan, if it differs from the last one that was reported.
pub(super) fn plan(
    before: Option<&Before>,
    (told, is_still): (Option<&ToldPlan>, bool),
    plan: &PlanLook<'_>,
    after: &Look<'_>,
) -> Option<PlanEvent> {
    let phase = match told {
        None => PlanPhase::Created,
        Some(told) => {
            let completed = matches!(after.outcome(), Some(Outcome::Completed { .. }));
            let outline = before.map(|before| before.outline.as_slice()).unwrap_or_default();
            if completed && before.is_some_and(|before| !before.has_ended) {
                PlanPhase::Completed
            } else if outline == after.outline() && told.is(plan, is_still) {
                return None;
            } else {
                PlanPhase::Updated
            }
        }
    };
    Some(PlanEvent {
        phase,
        title: plan.title.to_owned(),
        revision: plan.revision,
        confirmed: plan.confirmed,
        replanning: plan.replanning,
        steps: plan.steps().map(planned).collect(),
        outline: after.outline().to_vec(),
        language: after.planned_language(),
    })
}

fn planned(look: StepLook<'_>) -> PlannedStep {
    let step = look.step();
    PlannedStep {
        id: step.id.clone(),
        title: step.title.clone(),
        description: step.description.clone(),
        depends_on: step.depends_on.clone(),
        tool: tool(step).cloned(),
        state: look.state(),
        outline: look.outline().to_vec(),
    }
}

/// Adds the events of steps that changed, in plan order, then of unfinished steps that left the
/// plan.
pub(super) fn steps(was: &[ToldStep], is: Option<&PlanLook<'_>>, events: &mut Vec<Happened>) {
    let now = || is.into_iter().flat_map(PlanLook::steps);
    if was.len() == now().count() && was.iter().zip(now()).all(|(was, is)| was.has_id_of(is)) {
        let both = was.iter().zip(now());
        events.extend(both.filter_map(|(was, is)| went_on(Some(was), is)));
        return;
    }
    let (earlier, later) = (keyed(was.iter(), |step| step.id()), keyed(now(), |step| step.id()));
    let mut went: Vec<(usize, Happened)> = later
        .iter()
        .filter_map(|(key, (place, step))| {
            let before = earlier.get(key).map(|(_, step)| *step);
            Some((*place, went_on(before, *step)?))
        })
        .collect();
    went.sort_by_key(|(place, _)| *place);
    let dropped = earlier.iter().filter(|(key, (_, step))| {
        !later.contains_key(*key) && step.attempts > 0 && !step.state.is_terminal()
    });
    let mut dropped: Vec<_> = dropped.map(|(_, gone)| *gone).collect();
    dropped.sort_by_key(|(place, _)| *place);
    events.extend(went.into_iter().map(|(_, event)| event));
    events.extend(dropped.into_iter().map(|(_, step)| skipped(step)));
}

/// A step's id and the number of earlier steps with that id. A failed step may be planned again
/// under its id.
type Key<'a> = (&'a StepId, usize);

fn keyed<'a, T>(
    steps: impl Iterator<Item = T>,
    id: impl Fn(&T) -> &'a StepId,
) -> BTreeMap<Key<'a>, (usize, T)> {
    let mut times: BTreeMap<&StepId, usize> = BTreeMap::new();
    let mut keyed = BTreeMap::new();
    for (place, step) in steps.enumerate() {
        let id = id(&step);
        let time = times.entry(id).or_default();
        keyed.insert((id, *time), (place, step));
        *time += 1;
    }
    keyed
}

fn went_on(was: Option<&ToldStep>, is: StepLook<'_>) -> Option<Happened> {
    let response = || is.response().map(|text| excerpt::ends(text, limits::EXCERPT_CHARS));
    Some(Happened::Step(StepEvent {
        phase: phase(was, is)?,
        step: is.id().clone(),
        label: is.step().label().to_owned(),
        attempt: is.attempts(),
        response: response(),
        unsuccessful: is.is_unsuccessful(),
        attachments: is.attachments().to_vec(),
    }))
}

fn skipped(step: &ToldStep) -> Happened {
    Happened::Step(StepEvent {
        phase: StepPhase::Skipped,
        step: step.id().clone(),
        label: step.label().to_owned(),
        attempt: step.attempts,
        response: None,
        unsuccessful: false,
        attachments: step.attachments.clone(),
    })
}

fn phase(was: Option<&ToldStep>, is: StepLook<'_>) -> Option<StepPhase> {
    let before = was.map(|was| was.state);
    // A retry is reported whatever the step waited for in between.
    let again = was.is_some_and(|was| was.attempts > 0 && is.attempts() > was.attempts);
    if before == Some(is.state()) && !again {
        return None;
    }
    match is.state() {
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

/// Returns `true` if this record poisoned the job.
pub(super) fn newly_poisoned(before: Option<&Before>, after: &Look<'_>) -> bool {
    after.is_poisoned() && !before.is_some_and(Before::is_poisoned)
}

/// Adds the final answer, the failure, or the error that parks the job.
pub(super) fn ended(before: Option<&Before>, after: &Look<'_>, events: &mut Vec<Happened>) {
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
    if before.is_none_or(|before| !before.has_ended) {
        match after.outcome() {
            Some(Outcome::Completed { summary, .. }) => {
                message(Stream::Result, None, None, summary, events);
            }
            Some(Outcome::Failed { reason, message, .. }) => {
                events.push(error(ErrorScope::Job, message, Some(reason.as_str())));
            }
            Some(Outcome::Canceled { .. }) | None => {}
        }
    }
    let given_up = after.has_given_up() && !before.is_some_and(|before| before.has_given_up);
    if newly_poisoned(before, after) || given_up {
        let why = after.reason();
        let word = if given_up { "given_up" } else { "poisoned" };
        events.push(error(ErrorScope::Parked, why.as_deref().unwrap_or_default(), Some(word)));
    }
}

/// Returns the event of the job's state, if the state changed.
pub(super) fn job(before: Option<&Before>, after: &Look<'_>) -> Option<JobEvent> {
    let stands = (after.state, after.sub_status);
    if before.is_some_and(|before| before.stands == stands) {
        return None;
    }
    let (reason, value) = match after.outcome() {
        Some(Outcome::Canceled { reason }) => (reason.clone(), Value::Null),
        Some(Outcome::Completed { value, .. }) => (None, value.clone()),
        Some(Outcome::Failed { .. }) => (None, Value::Null),
        None => (after.reason(), Value::Null),
    };
    Some(JobEvent {
        state: after.state,
        sub_status: after.sub_status,
        reason,
        goal: before.is_none().then(|| after.goal().to_owned()),
        value,
    })
}
