//! From entries of a log to the job they are: the one bridge between the log and the machine.

use proto::{
    id::{JobId, Seq},
    record::{Known, Unreadable},
    timeline::{self, Timeline},
};
use runtime::log::Entry;

use crate::machine::{At, Fold, Job};

/// Folds a job's entries, in the order of the log.
#[must_use]
pub fn replay(job: &JobId, entries: &[Entry]) -> Job {
    let mut replay = Replay::of(job, entries);
    entries.iter().for_each(|entry| replay.apply(entry));
    replay.fold.into_job()
}

/// The fold of a log, for whoever looks at the job between its records.
#[derive(Debug, Clone)]
pub struct Replay {
    fold: Fold,
}

impl Replay {
    /// Begins the fold of a job's entries: of all of them, as a record is kept in sight only when a
    /// later one is known to go back to it.
    #[must_use]
    pub fn of(job: &JobId, entries: &[Entry]) -> Self {
        let wanted = entries.iter().filter_map(wants_back).collect();
        Self { fold: Fold::new(job.clone(), wanted) }
    }

    /// Applies the next of the entries.
    pub fn apply(&mut self, entry: &Entry) {
        self.fold.apply(at(entry), &entry.family, known(entry).as_ref());
    }

    /// The job after the entries so far.
    #[must_use]
    pub fn job(&self) -> &Job {
        self.fold.job()
    }

    /// Which of the entries so far count.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        self.fold.timeline()
    }

    /// The job after all entries.
    #[must_use]
    pub fn into_job(self) -> Job {
        self.fold.into_job()
    }
}

/// Applies one entry. Entries at or before the last applied one are passed over. A job that was
/// rolled back by it must be folded anew: [`Job::must_be_folded_anew`].
pub fn apply(job: &mut Job, entry: &Entry) {
    job.apply(at(entry), &entry.family, known(entry).as_ref());
}

/// The record that an entry wants the job to go back to, if it is a roll-back; whether it counts is
/// for the fold to say.
#[must_use]
pub fn wants_back(entry: &Entry) -> Option<Seq> {
    // The kind is looked at first so that large bodies are not parsed for nothing.
    let signaled = entry.record.as_ref().ok().filter(|record| record.kind == "signaled")?;
    timeline::wanted(&entry.family, &signaled.known().ok()?)
}

fn at(entry: &Entry) -> At {
    At { seq: entry.seq, time: entry.time }
}

fn known(entry: &Entry) -> Result<Known, Unreadable> {
    entry.record.as_ref().map_err(Clone::clone).and_then(proto::record::Record::known)
}
