//! The cached fold of one job, kept current between activations without reading its log.

use std::collections::VecDeque;

use jiff::SignedDuration;
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
/// [`Replay`] folds a complete log; here facts arrive one by one, sometimes after a decision that
/// follows them in the log. They arrive in log order, so a fact is never older than the last one
/// that arrived, and only decisions stored by this supervisor are folded again on top of it.
#[cfg_attr(test, derive(Debug, Clone))]
pub(super) struct CachedFold {
    job: Job,
    trace: Option<TraceContext>,
    /// Decisions that this supervisor has stored since the last fact that arrived, or since the last
    /// read; `None` before the first one.
    tail: Option<Box<Tail>>,
    /// `true` if the current activation may carry out commands itself.
    pub(super) may_run: bool,
}

/// Decisions below which a fact may be inserted.
#[cfg_attr(test, derive(Debug, Clone))]
struct Tail {
    /// The job before the first of the decisions.
    base: Job,
    decisions: VecDeque<(At, Known)>,
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
        (Self { job, trace, tail: None, may_run: false }, intake)
    }

    pub(super) fn job(&self) -> &Job {
        &self.job
    }

    pub(super) fn trace(&self) -> Option<TraceContext> {
        self.trace
    }

    /// Inserts facts, which must be in log order. Returns the kinds of those that changed nothing.
    pub(super) fn insert(&mut self, entries: &[&Entry]) -> Result<Vec<&'static str>, OutOfOrder> {
        let mut ignored = Vec::new();
        let below = entries.partition_point(|entry| entry.seq <= self.job.seq());
        let (below, above) = entries.split_at(below);
        if !below.is_empty() {
            let mut tail = self.tail.take().ok_or(OutOfOrder)?;
            for entry in below {
                tail.fold_below(entry.seq);
                ignored.extend(take(&mut tail.base, entry)?);
            }
            // The decisions above the facts are folded again once, whatever the number of facts.
            if tail.decisions.is_empty() {
                self.job = tail.base;
            } else {
                self.job.clone_from(&tail.base);
                let decisions = tail.decisions.iter();
                decisions.for_each(|(at, decision)| apply_decision(&mut self.job, *at, decision));
                self.tail = Some(tail);
            }
        }
        if !above.is_empty() {
            self.tail = None;
        }
        for entry in above {
            ignored.extend(take(&mut self.job, entry)?);
        }
        Ok(ignored)
    }

    /// Applies a decision that this supervisor stored.
    pub(super) fn stored(&mut self, seq: Seq, decision: Decision) {
        let took_ms = if let Decision::Done(done) = &decision { done.took_ms() } else { 0 };
        let at = after_work(&self.job, seq, took_ms);
        let decision = Known::Decision(Box::new(decision));
        let tail = self.tail.get_or_insert_with(|| {
            Box::new(Tail { base: self.job.clone(), decisions: VecDeque::new() })
        });
        apply_decision(&mut self.job, at, &decision);
        tail.decisions.push_back((at, decision));
    }
}

impl Tail {
    /// Folds the decisions before a position into the base.
    fn fold_below(&mut self, seq: Seq) {
        while let Some((at, decision)) = self.decisions.pop_front_if(|(at, _)| at.seq < seq) {
            apply_decision(&mut self.base, at, &decision);
        }
    }
}

/// Folds a fact. Returns its kind if it changed nothing.
fn take(job: &mut Job, entry: &Entry) -> Result<Option<&'static str>, OutOfOrder> {
    if entry.seq <= job.seq() || rollback_target(entry).is_some() {
        return Err(OutOfOrder);
    }
    let ignored = job.ignored();
    job.take(entry);
    Ok((job.ignored() > ignored).then(|| kind(entry)))
}

/// Returns the position and the time of a decision. The broker's time of its record is unknown here.
/// The last known time replaces it, later by the time of own work, so that nothing depends on this
/// machine's clock.
pub(super) fn after_work(job: &Job, seq: Seq, took_ms: u64) -> At {
    let took = SignedDuration::from_millis(i64::try_from(took_ms).unwrap_or(0));
    let last = job.updated();
    At { seq, time: last.checked_add(took).unwrap_or(last) }
}

pub(super) fn apply_decision(job: &mut Job, at: At, decision: &Known) {
    if let Known::Decision(known) = decision {
        job.apply(at, &Family::Do(known.kind(), known.pool()), Ok(decision));
    }
}
