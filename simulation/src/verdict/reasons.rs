//! The claim that a job that has not ended always has a reason why it does not move.

use machine::{Replay, Surroundings};
use proto::{entry::Entry, id::JobId};

/// Returns the first record after which the running job has no reason.
pub(super) fn missing(id: &JobId, entries: &[Entry]) -> Option<String> {
    let mut replay = Replay::of(id, entries);
    entries.iter().find_map(|entry| {
        replay.take(entry);
        let job = replay.job();
        let is_over = job.has_ended() || job.standing().is_none();
        let is_missing = !is_over && job.why(&Surroundings::default()).is_empty();
        is_missing.then(|| format!("{id}: no reason to rest after record {}", entry.seq))
    })
}
