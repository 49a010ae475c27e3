//! Dead letters, which wait for an operator: jobs that are parked at a record which cannot be
//! read, jobs whose fold breaks, and work that was given up. Pure over a job's entries.

use std::panic::{AssertUnwindSafe, catch_unwind};

use proto::entry::Entry;
use proto::{
    door::{DeadKind, DeadLetter},
    id::{Attempt, JobId, Seq, Unit, WorkId},
};

use crate::{Job, Replay};

/// Folds a whole log; a record at which the fold breaks is a dead letter.
///
/// # Errors
/// When the code that reads the job breaks: where, and nothing of what it said.
pub fn fold(job: &JobId, entries: &[Entry]) -> Result<Job, Box<DeadLetter>> {
    let mut replay = Replay::of(job, entries);
    for entry in entries {
        // What is left of the fold after a panic is thrown away.
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

/// The dead letters of a job, which wait for an operator. Nothing of a job that has
/// ended, whatever is in its log.
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

/// The position of the first result of an attempt.
fn result_of(entries: &[Entry], work: &WorkId, attempt: Attempt) -> Option<Seq> {
    let unit = Unit { work: work.clone(), attempt };
    let is_result =
        |entry: &&Entry| entry.fact().is_some_and(|fact| fact.result_of().as_ref() == Some(&unit));
    entries.iter().find(is_result).map(|entry| entry.seq)
}
