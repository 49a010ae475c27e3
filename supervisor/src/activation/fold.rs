//! The cached fold of one job, kept current between activations without reading its log.

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

/// A fold into which a fact can be inserted before decisions that are already folded.
///
/// It holds a [`Job`] twice for that purpose. [`Replay`] folds a complete log; here facts arrive
/// one by one, sometimes after a decision that follows them in the log. They arrive in log order,
/// so a fact is never older than the last one that arrived, and only decisions stored by this
/// supervisor are folded again on top of it.
#[cfg_attr(test, derive(Debug, Clone))]
pub(super) struct CachedFold {
    job: Job,
    trace: Option<TraceContext>,
    /// The job as of the last fact that arrived, or as of the last read.
    base: Job,
    /// Decisions that this supervisor has stored since `base`.
    tail: Vec<(At, Known)>,
}

/// The log must be read: the fact is older than the last one that arrived, or it is a rollback.
pub(super) struct OutOfOrder;

impl CachedFold {
    /// Folds a whole log, and records the changes that the arrivals made.
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

    pub(super) fn job(&self) -> &Job {
        &self.job
    }

    pub(super) fn trace(&self) -> Option<TraceContext> {
        self.trace
    }

    /// Inserts a fact. Returns its kind if it changed nothing.
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

    /// Applies a decision that this supervisor stored.
    pub(super) fn stored(&mut self, seq: Seq, decision: Decision) {
        // The broker's time of this record is unknown here. The last known time replaces it, so
        // that nothing depends on this machine's clock.
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
