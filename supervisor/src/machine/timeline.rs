//! Folds a whole log along its timeline: the one function from records to a job.
//!
//! A fold cannot be undone record by record. So when a roll-back counts, the job as it was at the
//! record it goes back to takes the place of the job as it is; it was kept when the fold came by,
//! because what is wanted is known from the log before. Everything that folds whole logs must fold
//! them here; who folds on by itself must begin again when [`Job::must_be_folded_anew`].

use std::collections::{BTreeMap, BTreeSet};

use proto::{
    id::{JobId, Seq},
    record::{Known, Unreadable},
    subject::Family,
    timeline::{self, Timeline, Turn},
};

use super::{fold::At, state::Job};

/// A job was rolled back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Back {
    /// The record that says so.
    pub(super) at: At,
}

/// The fold of a log that is there as a whole.
#[derive(Debug, Clone)]
pub struct Fold {
    job: Job,
    timeline: Timeline,
    /// Records that some roll-back of the log wants to go back to.
    wanted: BTreeSet<Seq>,
    /// The job as it was at those.
    points: BTreeMap<Seq, Job>,
}

impl Fold {
    /// The fold of a log of which nothing is read yet. `wanted` are the records that its roll-backs
    /// go back to, as [`proto::timeline::wanted`] says.
    #[must_use]
    pub fn new(id: JobId, wanted: BTreeSet<Seq>) -> Self {
        let job = Job::new(id);
        Self { job, timeline: Timeline::default(), wanted, points: BTreeMap::new() }
    }

    /// Applies the next record of the log. A record at or before the last one is passed over.
    pub fn apply(&mut self, at: At, family: &Family, record: Result<&Known, &Unreadable>) {
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
        if self.wanted.contains(&at.seq) {
            self.points.insert(at.seq, self.job.clone());
        }
    }

    /// The job after the records so far.
    #[must_use]
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// Which of the records so far count.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// The job after all its records.
    #[must_use]
    pub fn into_job(self) -> Job {
        self.job
    }
}

impl Job {
    /// Whether decisions may follow what is known of the job.
    pub(super) fn can_follow(&self) -> bool {
        self.poison.is_none() && self.back.is_none()
    }

    /// Notes a roll-back, and that nothing is known of the job any more until it is folded anew.
    pub(super) fn is_rolled_back(
        &mut self,
        at: At,
        family: &Family,
        record: Result<&Known, &Unreadable>,
    ) -> bool {
        if record.is_ok_and(|known| timeline::wanted(family, known).is_some()) {
            self.back = Some(Back { at });
        }
        self.back.is_some()
    }
}
