//! The facts that an activation takes, and their changes as metrics count them.

use std::collections::BTreeSet;

use machine::{Job, JobStatus};
use proto::{budget::Axis, entry::Entry, id::Seq, record::kind_label, subject::Family};

/// A delivered fact.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival<'a> {
    pub(crate) entry: &'a Entry,
    /// `true` if it was delivered before, to any supervisor.
    pub(crate) is_again: bool,
}

impl Arrival<'_> {
    /// Returns `true` if this is the first delivery of a submission.
    pub(super) fn is_new_job(&self) -> bool {
        let is_submission =
            |entry: &Entry| entry.record.as_ref().is_ok_and(|record| record.kind == "submitted");
        !self.is_again && is_submission(self.entry)
    }
}

/// The positions of the facts that an activation takes.
#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Arrivals {
    /// Facts that no activation has counted: this is their first delivery, or the activation of
    /// their first delivery was given up.
    fresh: BTreeSet<Seq>,
    /// Redelivered facts.
    again: BTreeSet<Seq>,
}

impl Arrivals {
    pub(super) fn of<'a>(
        uncounted: &BTreeSet<Seq>,
        facts: impl Iterator<Item = Arrival<'a>>,
    ) -> Self {
        let mut arrivals = Self { fresh: uncounted.clone(), again: BTreeSet::new() };
        for fact in facts {
            let facts = if fact.is_again { &mut arrivals.again } else { &mut arrivals.fresh };
            facts.insert(fact.entry.seq);
        }
        arrivals
    }

    pub(super) fn is_fresh(&self, seq: Seq) -> bool {
        self.fresh.contains(&seq)
    }

    /// Returns the position of the first fact whose effect on the job's status is uncounted. A
    /// redelivered fact that precedes a decision was counted with that decision.
    pub(super) fn first(&self, entries: &[Entry]) -> Option<Seq> {
        let is_decision =
            |entry: &&Entry| matches!(entry.family, Family::Do(..) | Family::UnknownDo(_));
        let decided = entries.iter().rfind(is_decision).map_or(Seq(0), |entry| entry.seq);
        let again = self.again.iter().find(|seq| **seq > decided);
        self.fresh.first().into_iter().chain(again).min().copied()
    }
}

/// The changes that the facts of an activation made.
#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Intake {
    /// Status before the first uncounted fact; `None` if the cached fold was used.
    pub(crate) before: Option<CountedStatus>,
    /// Kinds of the facts that changed nothing.
    pub(crate) ignored: Vec<&'static str>,
}

/// The status of a job, as metrics count it.
#[derive(Debug, Clone, Default)]
pub(crate) struct CountedStatus {
    pub(crate) standing: Option<JobStatus>,
    pub(crate) is_parked: bool,
    /// Limits that are nearly used up.
    pub(crate) near: Vec<Axis>,
}

impl CountedStatus {
    pub(crate) fn of(job: &Job) -> Self {
        Self { standing: job.standing(), is_parked: job.poison().is_some(), near: job.warnings() }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.standing.as_ref().is_some_and(|standing| standing.state.is_terminal())
    }
}

/// Returns the label under which metrics count a record.
pub(crate) fn kind(entry: &Entry) -> &'static str {
    entry.record.as_ref().map_or("unreadable", |record| kind_label(&record.kind))
}
