//! The check whether jobs rest: each has ended, or waits for an event that will never happen. Pure
//! over the logs and the replies to people.

use std::collections::BTreeMap;

use machine::{Job, replay, rollback_target};
use proto::{
    decision::DecisionKind,
    entry::Entry,
    id::{AskId, JobId},
    job::SubStatus,
    subject::Family,
};

use crate::{people::Told, verdict::Logs};

/// The status of a job, as far as the end of a world depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quiescence {
    /// The job has ended.
    Ended,
    /// The job waits for a person who will never act.
    Forgotten,
    /// The job must still advance.
    Moving,
}

/// Returns the jobs that do not rest.
pub(crate) fn moving(logs: &Logs, told: &Told) -> Vec<JobId> {
    let mut known = BTreeMap::new();
    let mut moving = Vec::new();
    for job in logs.keys() {
        match rest(job, logs, told, &mut known) {
            Quiescence::Ended => {}
            Quiescence::Forgotten if told.busy == 0 => {}
            Quiescence::Forgotten | Quiescence::Moving => moving.push(job.clone()),
        }
    }
    moving
}

/// Returns whether a job has ended and was never asked to roll back.
pub(crate) fn is_over(entries: &[Entry]) -> bool {
    let is_end = |entry: &Entry| matches!(entry.family, Family::Do(DecisionKind::Finish, _));
    entries.iter().any(is_end) && !entries.iter().any(|entry| rollback_target(entry).is_some())
}

fn rest(
    id: &JobId,
    logs: &Logs,
    told: &Told,
    known: &mut BTreeMap<JobId, Quiescence>,
) -> Quiescence {
    if let Some(rest) = known.get(id) {
        return *rest;
    }
    let entries = logs.get(id).map_or(&[][..], Vec::as_slice);
    if is_over(entries) {
        return Quiescence::Ended;
    }
    let job = replay(id, entries);
    let mut below = |child: &JobId| rest(child, logs, told, known);
    let rest = alone(id, &job, told, &mut below);
    known.insert(id.clone(), rest);
    rest
}

/// Returns the status of a job by its log, given that of its children.
fn alone(
    id: &JobId,
    job: &Job,
    told: &Told,
    below: &mut dyn FnMut(&JobId) -> Quiescence,
) -> Quiescence {
    if job.has_ended() || job.poison().is_some() {
        return Quiescence::Ended;
    }
    let Some(view) = job.view() else { return Quiescence::Moving };
    if job.decide().is_some() || job.has_work_out() {
        return Quiescence::Moving;
    }
    let waits = job.waits();
    // A child that has ended must still report to its parent.
    if waits.children.iter().any(|child| below(child) != Quiescence::Forgotten) {
        return Quiescence::Moving;
    }
    if view.sub_status == Some(SubStatus::Paused) {
        // A busy person may still send the signal that resumes the job.
        return if told.busy == 0 { Quiescence::Forgotten } else { Quiescence::Moving };
    }
    let ignored = |ask: &AskId| told.ignored.contains(&(id.clone(), ask.clone()));
    let for_ever = waits.timers.is_empty() && waits.questions.iter().all(ignored);
    // Work with exhausted attempts continues only after a retry signal, which nobody is left to
    // send.
    let hopeless = !waits.given_up.is_empty() && told.busy == 0;
    let waits_for_somebody = !waits.questions.is_empty() || !waits.children.is_empty();
    if for_ever && (hopeless || (waits.given_up.is_empty() && waits_for_somebody)) {
        Quiescence::Forgotten
    } else {
        Quiescence::Moving
    }
}
