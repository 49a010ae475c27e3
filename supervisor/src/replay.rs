//! From entries of a log to the job they are: the one bridge between the log and the machine.

use proto::id::JobId;
use runtime::log::Entry;

use crate::machine::{At, Job};

/// Folds a job's entries, in the order of the log.
#[must_use]
pub fn replay(job: &JobId, entries: &[Entry]) -> Job {
    let mut folded = Job::new(job.clone());
    for entry in entries {
        apply(&mut folded, entry);
    }
    folded
}

/// Applies one entry. Entries at or before the last applied one are passed over.
pub fn apply(job: &mut Job, entry: &Entry) {
    let at = At { seq: entry.seq, time: entry.time };
    let known = entry.record.as_ref().map_err(Clone::clone).and_then(proto::record::Record::known);
    job.apply(at, &entry.family, known.as_ref());
}
