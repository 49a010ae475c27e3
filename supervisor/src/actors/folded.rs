//! The fold of one job, kept current without reading its log: facts are put in their place, whatever
//! the order in which they arrive. Stores and reads nothing.

use std::collections::BTreeSet;

use machine::{At, Job, Replay, rollback_target};
use proto::{
    decision::Decision,
    entry::Entry,
    id::{JobId, Seq},
    record::{Known, kind_label},
    subject::Family,
    trace::TraceContext,
};

use super::observe::{Standpoint, Taken};

/// The fold, and enough to put a fact in its place that was stored before a decision and arrives
/// after it: facts arrive in the order of the log, so it is never older than the last one that did.
#[cfg_attr(test, derive(Debug, Clone))]
pub(super) struct Folded {
    pub(super) job: Job,
    pub(super) trace: TraceContext,
    /// The job as of the last fact that arrived, or as it was read.
    base: Job,
    /// Decisions stored from here since then.
    tail: Vec<(At, Known)>,
}

/// The log must be read: a fact is older than one that arrived before it, or takes the job back.
pub(super) struct MustRead;

/// Facts that a look takes in.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Nobody has counted these: they were handed out for the first time, now or to a look that was
    /// given up.
    pub(super) fresh: BTreeSet<Seq>,
    /// These were handed out before, to whomever.
    pub(super) again: BTreeSet<Seq>,
}

impl News {
    /// The first fact that changes what was counted of a job. One that was handed out before and
    /// that decisions followed was counted with those.
    fn first(&self, entries: &[Entry]) -> Option<Seq> {
        let is_decision =
            |entry: &&Entry| matches!(entry.family, Family::Do(..) | Family::UnknownDo(_));
        let decided = entries.iter().rfind(is_decision).map_or(Seq(0), |entry| entry.seq);
        let again = self.again.iter().find(|seq| **seq > decided);
        self.fresh.first().into_iter().chain(again).min().copied()
    }
}

impl Folded {
    /// Folds a whole log, and notes what the entries that are new in it changed.
    pub(super) fn of(job: &JobId, entries: &[Entry], news: &News) -> (Self, Taken) {
        let trace = entries.iter().find_map(|entry| entry.trace);
        let trace = trace
            .unwrap_or_else(|| TraceContext::new(fastrand::u128(..), fastrand::u64(..), false));
        let mut replay = Replay::of(job, entries);
        let mut taken = Taken::default();
        let first = news.first(entries);
        for entry in entries {
            if first == Some(entry.seq) {
                taken.before = Some(Standpoint::of(replay.job()));
            }
            let ignored = replay.job().ignored();
            replay.take(entry);
            if replay.job().ignored() > ignored && news.fresh.contains(&entry.seq) {
                taken.ignored.push(kind(entry));
            }
        }
        let job = replay.into_job();
        taken.before.get_or_insert_with(|| Standpoint::of(&job));
        (Self { base: job.clone(), job, trace, tail: Vec::new() }, taken)
    }

    /// Puts a fact in its place. Gives its kind when it changed nothing.
    pub(super) fn insert(&mut self, entry: &Entry) -> Result<Option<&'static str>, MustRead> {
        let ignored = self.job.ignored();
        self.place(entry)?;
        Ok((self.job.ignored() > ignored).then(|| kind(entry)))
    }

    fn place(&mut self, entry: &Entry) -> Result<(), MustRead> {
        if entry.seq <= self.base.seq() || rollback_target(entry).is_some() {
            return Err(MustRead);
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

    /// A decision was stored from here.
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

/// What a record is counted under.
pub(super) fn kind(entry: &Entry) -> &'static str {
    entry.record.as_ref().map_or("unreadable", |record| kind_label(&record.kind))
}
