//! Dead letters, which wait for an operator: jobs held by an unreadable record, jobs whose fold
//! panics, and work that was given up. All functions are pure over a job's entries.

use std::panic::{AssertUnwindSafe, catch_unwind};

use proto::entry::Entry;
use proto::{
    door::{DeadKind, DeadLetter},
    id::{Attempt, JobId, Seq, Unit, WorkId},
};

use crate::{Job, Replay};

/// Folds a whole log.
///
/// # Errors
/// Returns a dead letter if the fold or a projection of the job panics. It names the record, and
/// never quotes the panic.
pub fn fold(job: &JobId, entries: &[Entry]) -> Result<Job, Box<DeadLetter>> {
    let mut replay = Replay::of(job, entries);
    for entry in entries {
        // The fold's state after a panic is discarded.
        let applied = catch_unwind(AssertUnwindSafe(|| replay.take(entry)));
        applied.map_err(|_| Box::new(broken(job, entry)))?;
    }
    let folded = replay.into_job();
    let looked = catch_unwind(AssertUnwindSafe(|| drop((folded.decide(), folded.view()))));
    match (looked, entries.last()) {
        (Err(_), Some(last)) => Err(Box::new(broken(job, last))),
        (Ok(()) | Err(_), _) => Ok(folded),
    }
}

fn broken(job: &JobId, entry: &Entry) -> DeadLetter {
    DeadLetter {
        job: job.clone(),
        kind: DeadKind::Broken,
        seq: entry.seq,
        reason: "the fold of the job panics at this record".to_owned(),
        since: entry.time,
        work: None,
        attempt: None,
    }
}

/// Returns the dead letters of a job. A job that has ended has none, whatever its log contains.
#[must_use]
pub fn letters(job: &Job, entries: &[Entry]) -> Vec<DeadLetter> {
    if job.has_ended() {
        return Vec::new();
    }
    let letter = |kind, seq, reason: &str, since| DeadLetter {
        job: job.id().clone(),
        kind,
        seq,
        reason: reason.to_owned(),
        since,
        work: None,
        attempt: None,
    };
    if let Some(poison) = job.poison() {
        let since = entries.iter().find(|entry| entry.seq == poison.seq).map(|entry| entry.time);
        let since = since.unwrap_or_else(|| job.updated());
        return vec![letter(DeadKind::Unreadable, poison.seq, &poison.reason, since)];
    }
    let given_up = job.waits().given_up.into_iter().map(|lost| DeadLetter {
        work: Some(lost.work.clone()),
        attempt: Some(lost.attempt),
        ..letter(
            DeadKind::GivenUp,
            result_of(entries, &lost.work, lost.attempt).unwrap_or_else(|| job.seq()),
            &lost.error,
            lost.since,
        )
    });
    given_up.collect()
}

/// Returns the position of an attempt's first result.
fn result_of(entries: &[Entry], work: &WorkId, attempt: Attempt) -> Option<Seq> {
    let unit = Unit { work: work.clone(), attempt };
    let is_result = |entry: &&Entry| {
        entry.results().iter().any(|fact| fact.result_of().as_ref() == Some(&unit))
    };
    entries.iter().find(is_result).map(|entry| entry.seq)
}
