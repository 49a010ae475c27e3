//! The fold of one job between two activations, kept current without reading its log.

use machine::{At, Job, Replay, rollback_target};
use proto::{
    decision::Decision,
    entry::Entry,
    id::{JobId, Seq},
    record::Known,
    subject::Family,
    trace::TraceContext,
};

use super::intake::{Arrivals, CountedStatus, Intake, kind};

/// The fold of one job, and enough to place a fact that was stored before a decision and arrives after
/// it.
///
/// It holds a [`Job`] twice and is a type of its own for that reason. [`Replay`] folds a log that is at
/// hand as a whole; here facts arrive one by one, and late. They arrive in the order of the log, so a
/// fact is never older than the last one that arrived, and only decisions stored from here are folded
/// again on top of it.
#[cfg_attr(test, derive(Debug, Clone))]
pub(super) struct CachedFold {
    job: Job,
    trace: Option<TraceContext>,
    /// The job as of the last fact that arrived, or as it was read.
    base: Job,
    /// Decisions stored from here since then.
    tail: Vec<(At, Known)>,
}

/// The log must be read: the fact is older than one that arrived before it, or rolls the job back.
pub(super) struct OutOfOrder;

impl CachedFold {
    /// Folds a whole log, and notes the changes that the arrivals made.
    pub(super) fn read(job: &JobId, entries: &[Entry], arrivals: &Arrivals) -> (Self, Intake) {
        let trace = entries.iter().find_map(|entry| entry.trace);
        let mut replay = Replay::of(job, entries);
        let mut intake = Intake::default();
        let first = arrivals.first(entries);
        for entry in entries {
            if first == Some(entry.seq) {
                intake.before = Some(CountedStatus::of(replay.job()));
            }
            let ignored = replay.job().ignored();
            replay.take(entry);
            if replay.job().ignored() > ignored && arrivals.is_fresh(entry.seq) {
                intake.ignored.push(kind(entry));
            }
        }
        let job = replay.into_job();
        intake.before.get_or_insert_with(|| CountedStatus::of(&job));
        (Self { base: job.clone(), job, trace, tail: Vec::new() }, intake)
    }

    /// The job as it is folded.
    pub(super) fn job(&self) -> &Job {
        &self.job
    }

    /// The trace of the job.
    pub(super) fn trace(&self) -> Option<TraceContext> {
        self.trace
    }

    /// Puts a fact in its place. Gives its kind when it changed nothing.
    pub(super) fn insert(&mut self, entry: &Entry) -> Result<Option<&'static str>, OutOfOrder> {
        let ignored = self.job.ignored();
        self.place(entry)?;
        Ok((self.job.ignored() > ignored).then(|| kind(entry)))
    }

    fn place(&mut self, entry: &Entry) -> Result<(), OutOfOrder> {
        if entry.seq <= self.base.seq() || rollback_target(entry).is_some() {
            return Err(OutOfOrder);
        }
        if entry.seq > self.job.seq() {
            self.job.take(entry);
            self.tail.clear();
            self.base.clone_from(&self.job);
            return Ok(());
        }
        let later = self.tail.partition_point(|(at, _)| at.seq < entry.seq);
        let later = self.tail.split_off(later);
        let earlier = std::mem::replace(&mut self.tail, later);
        earlier.iter().for_each(|(at, decision)| apply_decision(&mut self.base, *at, decision));
        self.base.take(entry);
        self.job.clone_from(&self.base);
        self.tail.iter().for_each(|(at, decision)| apply_decision(&mut self.job, *at, decision));
        Ok(())
    }

    /// Applies a decision that was stored from here.
    pub(super) fn stored(&mut self, seq: Seq, decision: Decision) {
        // The broker's own time of this record is not known here; the last known one stands in for
        // it, so that nothing is ever computed from this machine's clock.
        let at = At { seq, time: self.job.updated() };
        let decision = Known::Decision(Box::new(decision));
        apply_decision(&mut self.job, at, &decision);
        self.tail.push((at, decision));
    }
}

fn apply_decision(job: &mut Job, at: At, decision: &Known) {
    if let Known::Decision(known) = decision {
        job.apply(at, &Family::Do(known.kind(), known.pool()), Ok(decision));
    }
}
