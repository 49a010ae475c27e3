//! The fold of a whole log along its timeline.
//!
//! A fold cannot be undone record by record. [`Replay`] therefore finds every rollback target in
//! the log first, keeps the job's state when the fold passes a target, and restores that state when
//! a rollback counts. A reader that follows a log with [`Job::take`] has no such states and must
//! fold the log from its first record when [`Job::must_be_refolded`].

use std::collections::{BTreeMap, BTreeSet};

use proto::{
    entry::Entry,
    id::{JobId, Seq},
    record::{Known, Record, Unreadable},
    subject::Family,
};

use crate::{
    at::At,
    done::Half,
    state::Job,
    timeline::{self, Timeline, Turn},
};

/// Folds the entries of a job's log, which must be in log order, and returns the job.
#[must_use]
pub fn replay(job: &JobId, entries: &[Entry]) -> Job {
    let mut replay = Replay::of(job, entries);
    entries.iter().for_each(|entry| replay.take(entry));
    replay.into_job()
}

/// A step-by-step fold of a complete log. Unlike a [`Job`], it can apply rollbacks, because it
/// keeps the job's state at every rollback target.
#[derive(Debug, Clone)]
pub struct Replay {
    job: Job,
    timeline: Timeline,
    /// Positions that some rollback of the log names as its target.
    targets: BTreeSet<Seq>,
    /// State of the job right after each target that was passed.
    points: BTreeMap<Seq, Job>,
}

impl Replay {
    /// Starts the fold of `entries`. The slice must hold the whole log: a state is kept only if a
    /// later record names its position as a rollback target.
    #[must_use]
    pub fn of(job: &JobId, entries: &[Entry]) -> Self {
        Self::new(job.clone(), entries.iter().filter_map(rollback_target).collect())
    }

    pub(crate) fn new(id: JobId, targets: BTreeSet<Seq>) -> Self {
        let (job, timeline) = (Job::new(id), Timeline::default());
        Self { job, timeline, targets, points: BTreeMap::new() }
    }

    /// Applies the next entry. An entry at or before the last applied position is skipped.
    pub fn take(&mut self, entry: &Entry) {
        self.apply(At::of(entry), &entry.family, known(entry).as_ref());
    }

    pub(crate) fn apply(&mut self, at: At, family: &Family, record: Result<&Known, &Unreadable>) {
        self.apply_in_halves(at, family, record, &mut |_, _| ());
    }

    pub(crate) fn apply_in_halves(
        &mut self,
        at: At,
        family: &Family,
        record: Result<&Known, &Unreadable>,
        halves: &mut dyn FnMut(&Job, Half<'_>),
    ) {
        if at.seq <= self.job.seq {
            return;
        }
        self.job.apply_in_halves(at, family, record, halves);
        if let Err(Unreadable::Forged) = record {
            return;
        }
        let turn = self.timeline.take(at.seq, family, record.ok());
        if self.job.back.take().is_some() {
            let base = match turn {
                Turn::Back(to) => self.points.get(&to),
                Turn::On | Turn::Refused => None,
            };
            match base {
                Some(base) => self.job.go_back_to(base.clone(), at),
                None => self.job.ignored += 1,
            }
        }
        if self.targets.contains(&at.seq) {
            self.points.insert(at.seq, self.job.clone());
        }
    }

    /// Returns the job after the entries applied so far.
    #[must_use]
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// Returns the timeline of the entries applied so far.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Returns the job after the last applied entry.
    #[must_use]
    pub fn into_job(self) -> Job {
        self.job
    }
}

impl Job {
    /// Applies one entry. An entry at or before the last applied position is skipped. After a
    /// rollback the job must be folded from its first record: see [`Job::must_be_refolded`].
    pub fn take(&mut self, entry: &Entry) {
        self.apply(At::of(entry), &entry.family, known(entry).as_ref());
    }

    /// Returns `true` if decisions may follow the current state.
    pub(super) fn can_follow(&self) -> bool {
        self.poison.is_none() && self.back.is_none()
    }

    /// Records a rollback and returns `true` if one is pending. The state is stale from then on
    /// until the log is folded again.
    pub(super) fn is_rolled_back(
        &mut self,
        at: At,
        family: &Family,
        record: Result<&Known, &Unreadable>,
    ) -> bool {
        if record.is_ok_and(|known| timeline::wanted(family, known).is_some()) {
            self.back = Some(at);
        }
        self.back.is_some()
    }
}

/// Returns the position that the entry asks to roll back to, if it is a rollback. Whether the
/// rollback counts is known only to the fold.
#[must_use]
pub fn rollback_target(entry: &Entry) -> Option<Seq> {
    // The kind is compared first so that large bodies are not parsed in vain.
    let signaled = entry.record.as_ref().ok().filter(|record| record.kind == "signaled")?;
    timeline::wanted(&entry.family, &signaled.known().ok()?)
}

pub(crate) fn known(entry: &Entry) -> Result<Known, Unreadable> {
    entry.record.as_ref().map_err(Clone::clone).and_then(Record::known)
}
