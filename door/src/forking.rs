//! The submission of a fork: the part of the source's log that it carries along.

use broker::log::Reader;
use proto::{
    entry::Entry,
    error::{Code, Failure},
    fact::{Fact, Submitted},
    file::File,
    fork::{DEPTH_MAX, Forked, ForkedRecord},
    id::{JobId, Seq},
    limits,
    point::{Fork, Point},
    record::{Known, Unreadable},
    refusal::Text,
};

use super::{descendants, fold, rollback::Past};

/// The part of a log that a fork takes along.
#[derive(Debug)]
pub(super) struct Along {
    /// Last record.
    pub(super) seq: Seq,
    first: Submitted,
    records: Vec<ForkedRecord>,
    artifacts: Vec<File>,
}

/// The submission of a fork.
pub(super) struct NewFork {
    pub(super) submitted: Submitted,
    /// Artifacts of the source at that point.
    pub(super) artifacts: Vec<File>,
}

/// Returns what a fork takes along from the log of its source.
///
/// # Errors
/// Returns an error if the point does not exist, or if no job can continue from there.
pub(super) async fn along(
    log: &dyn Reader,
    fork: &Fork,
    entries: &[Entry],
) -> Result<Along, Failure> {
    let found = fold::apart(&fork.job, || point(&fork.job, fork, entries))?;
    let Found { seq, below, artifacts } = found.map_err(|refused| *refused)?;
    descendants::check(log, below, "fork.at").await?;
    let until = entries.partition_point(|entry| entry.seq <= seq);
    let (along, _) = entries.split_at(until);
    let Some(first) = along.first().and_then(Entry::submission) else {
        let why = Text::FirstUnreadable { job: &fork.job };
        return Err(Failure::of(Code::Poisoned, why).at("fork.job"));
    };
    if depth(&first) >= DEPTH_MAX {
        let why = Text::ForkDepth { job: &fork.job, max: &DEPTH_MAX };
        return Err(Failure::about(Code::TooLarge, "fork.job", why));
    }
    let mut records = Vec::with_capacity(along.len());
    let mut bytes = 0;
    for entry in along {
        records.extend(record(entry, &mut bytes)?);
    }
    if bytes > limits::FORK_BYTES_MAX {
        let (job, max) = (&fork.job, &limits::FORK_BYTES_MAX);
        let why = Text::ForkTooLarge { job, bytes: &bytes, max };
        return Err(Failure::about(Code::TooLarge, "fork.job", why));
    }
    Ok(Along { seq, first, records, artifacts })
}

/// Reads the log of a fork's source.
pub(super) async fn source(log: &dyn Reader, fork: &Fork) -> Result<Vec<Entry>, Failure> {
    let read = fold::read(log, &fork.job).await;
    read.map_err(
        |failure| {
            if failure.code == Code::NotFound { failure.at("fork.job") } else { failure }
        },
    )
}

/// Builds the submission of a fork. `own` has the submitter and the digest of the request.
///
/// # Errors
/// Returns an error if the job or the point does not exist, or if no job can continue from there.
pub(super) async fn submission(
    log: &dyn Reader,
    fork: &Fork,
    own: Submitted,
) -> Result<NewFork, Failure> {
    let entries = source(log, fork).await?;
    let Along { seq, first, records, artifacts } = along(log, fork, &entries).await?;
    let forked = Forked { job: fork.job.clone(), seq, records };
    let Submitted {
        goal,
        agent,
        language,
        language_detected,
        conversation,
        agents,
        files,
        labels,
        rules,
        ..
    } = first;
    let Submitted { digest, by, .. } = own;
    let submitted = Submitted {
        goal,
        agent,
        language,
        language_detected,
        digest,
        by,
        conversation,
        parent: None,
        agents,
        plan: None,
        workflow: None,
        forked: Some(Box::new(forked)),
        files,
        labels,
        rules,
    };
    Ok(NewFork { submitted, artifacts })
}

/// The point of a fork, the children that would repeat their work (none if the request allows repeats),
/// and the artifacts at that point.
struct Found {
    seq: Seq,
    below: Vec<JobId>,
    artifacts: Vec<File>,
}

fn point(job: &JobId, fork: &Fork, entries: &[Entry]) -> Result<Found, Box<Failure>> {
    let past = Past::of(job, entries);
    let at = fork.at.clone().unwrap_or(Point::Seq(past.last()));
    let seq = past.seq_of(&at, "fork.at")?;
    let below = past.check(seq, fork.again, "fork.at")?;
    let artifacts = past.job_at(seq).artifact_files().map(|(_, file)| file).collect();
    Ok(Found { seq, below, artifacts })
}

/// Returns the number of forks between the job and the first log.
fn depth(submitted: &Submitted) -> u64 {
    let first = |submitted: &Submitted| {
        let forked = submitted.forked.as_deref()?;
        let known = forked.records.first()?.record().ok()?.known().ok()?;
        let Known::Fact(fact) = known else { return None };
        let Fact::Submitted(first) = *fact else { return None };
        Some(first)
    };
    std::iter::successors(first(submitted), first).count() as u64
}

/// Returns a record in the form that a fork carries, or `None` for a forged one.
fn record(entry: &Entry, bytes: &mut usize) -> Result<Option<ForkedRecord>, Failure> {
    let record = match &entry.record {
        Ok(record) => record,
        Err(Unreadable::Forged) => return Ok(None),
        Err(unreadable) => {
            let why = format!("fork.at: record {}: {unreadable}", entry.seq);
            return Err(Failure::new(Code::Poisoned, why).at("fork.at"));
        }
    };
    let written = record.to_vec();
    *bytes += written.len();
    let record = serde_json::from_slice(&written)
        .map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
    let (seq, time, family) = (entry.seq, entry.time, entry.family.to_string());
    Ok(Some(ForkedRecord { seq, time, family, record }))
}
