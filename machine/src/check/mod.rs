//! Looks through a job's log for what must never be in one: pure over its entries, so that it can
//! be run on any log, of a test or of an installation.
//!
//! It must not trust the fold alone: what was decided, answered and counted is held against the
//! records themselves.

mod finding;
mod units;

#[cfg(test)]
mod tests;

use proto::entry::Entry;
use proto::{
    id::JobId,
    job::{JobState, Outcome, SubStatus},
    record::{Known, Record},
};

use crate::{Job, Replay};

pub use self::finding::Finding;
use self::units::Units;

/// What a log came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// How the job ended, if it has.
    pub outcome: Option<Outcome>,
    /// What is wrong, in the order of the log.
    pub findings: Vec<Finding>,
    /// Commands to plan, to take a turn and to call a tool.
    pub commands: usize,
    /// Their results that counted.
    pub results: usize,
    /// Facts that changed nothing: late, twice, or for nothing.
    pub ignored: u64,
    /// Who wrote results that counted.
    pub workers: std::collections::BTreeSet<String>,
}

impl Checked {
    /// Whether the job completed and nothing is wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty() && matches!(self.outcome, Some(Outcome::Completed { .. }))
    }
}

/// Checks one job's whole log, as `Log::read` gives it. A job that moves may lack a
/// decision that is just being stored: look at it again before believing that finding.
#[must_use]
pub fn check(id: &JobId, entries: &[Entry]) -> Checked {
    let mut replay = Replay::of(id, entries);
    let mut units = Units::default();
    for entry in entries {
        let job = replay.job();
        if entry.job != *id || entry.seq <= job.seq() {
            units.findings.push(Finding::Misplaced { seq: entry.seq });
            continue;
        }
        let ignored = job.ignored();
        let (was_parked, generation) = (job.poison().is_some(), job.generation());
        replay.take(entry);
        let job = replay.job();
        if job.generation() > generation {
            units.abandon();
            continue;
        }
        if was_parked || job.poison().is_some() {
            continue;
        }
        let by = entry.record.as_ref().map(|record| record.by.as_str()).unwrap_or_default();
        match entry.record.as_ref().map(Record::known) {
            Ok(Ok(Known::Fact(fact))) => units.fact(entry, by, &fact, job.ignored() == ignored),
            Ok(Ok(Known::Decision(decision))) if decision.generation() < generation => {
                units.fenced(entry.seq, &decision);
            }
            Ok(Ok(Known::Decision(decision))) => units.decision(entry.seq, &decision),
            // The fold is parked by it, which is found below.
            Ok(Err(_)) | Err(_) => {}
        }
    }
    let job = replay.into_job();
    let completed = matches!(job.outcome(), Some(Outcome::Completed { .. }));
    if completed {
        units.all_answered();
    }
    units.findings.extend(standing(&job));
    Checked {
        outcome: job.outcome().cloned(),
        commands: units.commands(),
        results: units.results(),
        ignored: job.ignored(),
        workers: units.workers,
        findings: units.findings,
    }
}

/// What is wrong with where the log leaves the job: a job that has not ended must wait for
/// something that can come.
fn standing(job: &Job) -> Option<Finding> {
    if let Some(poison) = job.poison() {
        return Some(Finding::Parked { seq: poison.seq, reason: poison.reason.clone() });
    }
    let Some(view) = job.view() else { return Some(Finding::NeverSubmitted) };
    if job.has_ended() {
        return None;
    }
    if let Some(next) = job.decide() {
        let kind = next.decision.kind();
        return Some(Finding::MissingDecision { kind, after: job.last_decision() });
    }
    let waits =
        job.has_work_out() || job.has_children_out() || waits_outside(view.state, view.sub_status);
    (!waits).then_some(Finding::WaitsForNothing { seq: job.seq() })
}

/// Whether a job that stands there waits for a person, an operator or the clock.
fn waits_outside(state: JobState, sub_status: Option<SubStatus>) -> bool {
    state == JobState::InputRequired
        || matches!(sub_status, Some(SubStatus::BackingOff | SubStatus::Paused | SubStatus::Parked))
}
