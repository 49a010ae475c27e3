//! The fold of a whole log along its timeline: the one function from records to a job.
//!
//! A fold cannot be undone record by record. When a rollback counts, the job as it was at the record
//! it goes back to therefore replaces the job as it is; that state was kept when the fold passed it,
//! because the log says in advance which records rollbacks go back to. A reader that follows a log
//! with [`Job::take`] instead must fold the log again when [`Job::must_be_refolded`].

use std::collections::{BTreeMap, BTreeSet};

use proto::{
    entry::Entry,
    id::{JobId, Seq},
    record::{Known, Record, Unreadable},
    subject::Family,
};

use crate::{
    at::At,
    state::Job,
    timeline::{self, Timeline, Turn},
};

/// Folds a job's entries, in the order of the log.
#[must_use]
pub fn replay(job: &JobId, entries: &[Entry]) -> Job {
    let mut replay = Replay::of(job, entries);
    entries.iter().for_each(|entry| replay.take(entry));
    replay.into_job()
}

/// The fold of a log that is at hand as a whole, with the job after each of its records. It holds a
/// [`Job`] and those that rollbacks go back to, which a job itself cannot know in advance.
#[derive(Debug, Clone)]
pub struct Replay {
    job: Job,
    timeline: Timeline,
    /// Records that a rollback of the log goes back to.
    targets: BTreeSet<Seq>,
    /// The job as it was at those records.
    points: BTreeMap<Seq, Job>,
}

impl Replay {
    /// Starts the fold of these entries. All of them are needed, because a state is kept only when a
    /// later record is known to go back to it.
    #[must_use]
    pub fn of(job: &JobId, entries: &[Entry]) -> Self {
        Self::new(job.clone(), entries.iter().filter_map(rollback_target).collect())
    }

    pub(crate) fn new(id: JobId, targets: BTreeSet<Seq>) -> Self {
        let (job, timeline) = (Job::new(id), Timeline::default());
        Self { job, timeline, targets, points: BTreeMap::new() }
    }

    /// Applies the next entry. An entry at or before the last one is skipped.
    pub fn take(&mut self, entry: &Entry) {
        self.apply(At::of(entry), &entry.family, known(entry).as_ref());
    }

    pub(crate) fn apply(&mut self, at: At, family: &Family, record: Result<&Known, &Unreadable>) {
        if at.seq <= self.job.seq {
            return;
        }
        self.job.apply(at, family, record);
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

    /// The job after the entries so far.
    #[must_use]
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// The entries so far that count.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// The job after all entries.
    #[must_use]
    pub fn into_job(self) -> Job {
        self.job
    }
}

impl Job {
    /// Applies one entry. Entries at or before the last applied one are skipped. After a rollback the
    /// job must be folded from its first record: [`Job::must_be_refolded`].
    pub fn take(&mut self, entry: &Entry) {
        self.apply(At::of(entry), &entry.family, known(entry).as_ref());
    }

    /// Whether decisions may follow this state of the job.
    pub(super) fn can_follow(&self) -> bool {
        self.poison.is_none() && self.back.is_none()
    }

    /// Notes a rollback. The state of the job is unknown from then on until its log is folded again.
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

/// The record that an entry rolls the job back to. Only the fold knows whether the rollback counts.
#[must_use]
pub fn rollback_target(entry: &Entry) -> Option<Seq> {
    // The kind is compared first so that large bodies are not parsed in vain.
    let signaled = entry.record.as_ref().ok().filter(|record| record.kind == "signaled")?;
    timeline::wanted(&entry.family, &signaled.known().ok()?)
}

fn known(entry: &Entry) -> Result<Known, Unreadable> {
    entry.record.as_ref().map_err(Clone::clone).and_then(Record::known)
}
