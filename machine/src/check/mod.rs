//! A consistency check of a job's log. It is pure over the entries, so it runs on logs of tests and
//! of installations alike.
//!
//! The check does not rely on the fold alone: decisions, results and counts are compared with the
//! records themselves.

mod finding;
mod units;

#[cfg(test)]
mod tests;

use proto::entry::Entry;
use proto::{
    id::JobId,
    job::{JobState, Outcome, SubStatus},
    record::{Known, Unreadable},
};

use crate::{
    Job, Replay,
    at::{At, Counted},
    done::Half,
    replay::known,
};

pub use self::finding::Finding;
use self::units::Units;

/// The result of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// Outcome of the job; `None` if it has not ended.
    pub outcome: Option<Outcome>,
    /// Faults, in log order.
    pub findings: Vec<Finding>,
    /// Number of commands to plan, to take a turn, to call a tool or to spawn a child.
    pub commands: usize,
    /// Number of results of those commands that counted.
    pub results: usize,
    /// Number of records that changed nothing.
    pub ignored: u64,
    /// Names of the workers whose results counted.
    pub workers: std::collections::BTreeSet<String>,
}

impl Checked {
    /// Returns `true` if the job completed and the log has no fault.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty() && matches!(self.outcome, Some(Outcome::Completed { .. }))
    }
}

/// Checks the whole log of one job, as `Log::read` returns it. The log of a running job may lack a
/// decision that is being stored: read it again before reporting a missing decision.
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
        let by = entry.record.as_ref().map(|record| record.by.as_str()).unwrap_or_default();
        let known = known(entry);
        let at = At::of(entry);
        replay.apply_in_halves(at, &entry.family, known.as_ref(), &mut |_, half| match half {
            Half::Sent(unit, _) => units.done(entry.seq, unit),
            Half::Answered(unit, _, counted) => {
                units.fact(entry, by, &unit.result(), counted == Counted::Yes);
            }
        });
        let job = replay.job();
        if job.generation() > generation {
            units.abandon();
            continue;
        }
        if was_parked || job.poison().is_some() {
            continue;
        }
        match known {
            Ok(Known::Fact(fact)) => units.fact(entry, by, &fact, job.ignored() == ignored),
            Ok(Known::Decision(decision)) if decision.generation() < generation => {
                units.fenced(entry.seq, &decision);
            }
            Ok(Known::Decision(decision)) => units.decision(entry.seq, &decision),
            Err(
                Unreadable::Body { unit: Some(unit), .. }
                | Unreadable::Kind { unit: Some(unit), .. },
            ) if job.ignored() == ignored => units.broke(unit),
            // The record changed nothing, or it poisons the fold, which is reported below.
            Err(_) => {}
        }
    }
    let job = replay.into_job();
    let completed = matches!(job.outcome(), Some(Outcome::Completed { .. }));
    if completed {
        units.all_answered(|work| job.has_skipped(work));
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

/// Returns the fault of the job's final state: a job that has not ended must wait for an event that
/// can happen.
fn standing(job: &Job) -> Option<Finding> {
    if let Some(poison) = job.poison() {
        let (seq, reason) = (poison.seq, poison.reason.clone());
        return Some(if job.has_ended() {
            Finding::EndedUnread { seq, reason }
        } else {
            Finding::Parked { seq, reason }
        });
    }
    if job.has_ended() {
        return None;
    }
    let Some(view) = job.view() else { return Some(Finding::NeverSubmitted) };
    if let Some(next) = job.decide() {
        let kind = next.decision.kind();
        return Some(Finding::MissingDecision { kind, after: job.last_decision() });
    }
    let waits =
        job.has_work_out() || job.has_children_out() || waits_outside(view.state, view.sub_status);
    (!waits).then_some(Finding::WaitsForNothing { seq: job.seq() })
}

/// Returns `true` if a job in this state waits for a person, an operator or a timer.
fn waits_outside(state: JobState, sub_status: Option<SubStatus>) -> bool {
    state == JobState::InputRequired
        || matches!(sub_status, Some(SubStatus::BackingOff | SubStatus::Paused | SubStatus::Parked))
}
