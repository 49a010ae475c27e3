//! The removal of ended jobs: their logs, their entries in shared buckets, and large values without
//! references. It runs on a live system, and may be interrupted and repeated at any time.
//!
//! It must never remove the log of a job that has not ended, or whose family has not: the fold
//! decides. It removes only versions that it has read, so concurrent writes survive.

mod families;
mod objects;

use broker::{
    Broker,
    kv::{Bucket, KvError},
    log::LogError,
    objects::ObjectError,
};
use futures::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use machine::dead_letters;
use proto::{
    entry::Entry,
    id::{ConversationId, JobId, Seq, Shard},
};
use serde::Serialize;

use self::families::Families;
pub use self::objects::{Garbage, OLDER_THAN, PATIENCE, collect, garbage};
use runtime::conversations;

/// Limit on the jobs of one search; the next run finds the rest.
pub const JOBS_MAX: usize = 100_000;
/// Submissions per page.
const PAGE: usize = 200;
/// Number of logs that are read, or removed, concurrently.
const AT_A_TIME: usize = 4;

/// The selection of jobs to remove.
#[derive(Debug, Clone)]
pub struct Terms {
    /// Jobs to consider; all if empty.
    pub jobs: Vec<JobId>,
    /// Time before which a job's last record must have been stored.
    pub before: Timestamp,
}

/// An ended job, as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ended {
    /// Id of the job.
    pub job: JobId,
    /// Time of its last record: its end, or a late result.
    pub last: Timestamp,
    /// Number of its records.
    pub records: u64,
    /// Size of the records in bytes, without large values and the server's overhead.
    pub bytes: u64,
    #[serde(skip)]
    until: Seq,
    #[serde(skip)]
    conversation: Option<ConversationId>,
    /// Its parent and its children.
    #[serde(skip)]
    relatives: Vec<JobId>,
}

/// The reason for which a job is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stays {
    /// The job has not ended.
    Open,
    /// Its parent or a child has not ended. Each appends to the other's log, and a rollback of one
    /// restarts the others.
    Family,
    /// The job, or a job of its family, has ended or was submitted too recently.
    Recent,
    /// The job does not exist, or was removed before.
    Absent,
    /// The stream of its shard is lost. It may be restored from a backup.
    Lost,
}

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PurgeReport {
    /// Jobs that may be removed.
    pub ended: Vec<Ended>,
    /// Number of jobs that have not ended. Recent submissions are not read.
    pub open: u64,
    /// Number of jobs kept because a member of their family has not ended.
    pub family: u64,
    /// Number of jobs kept because they ended or were submitted too recently.
    pub recent: u64,
    /// Named jobs that are kept, with the reason.
    pub named: Vec<(JobId, Stays)>,
    /// `true` if the search stopped at [`JOBS_MAX`].
    pub more: bool,
    /// Shards whose stream is lost. Their jobs were not read.
    pub lost: Vec<Shard>,
}

/// The error of a search or a removal. Jobs removed before it stay removed.
#[derive(Debug, thiserror::Error)]
pub enum PurgeError {
    /// The log cannot be read or changed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A bucket cannot be read or changed.
    #[error(transparent)]
    Kv(#[from] KvError),
    /// The object store cannot be read or changed.
    #[error(transparent)]
    Objects(#[from] ObjectError),
    /// The listing of large values is too old to act on.
    #[error("too long")]
    TooLong,
}

/// Searches for jobs that may be removed. Changes nothing.
///
/// # Errors
/// Returns an error if something cannot be read.
pub async fn find(broker: &Broker, terms: &Terms) -> Result<PurgeReport, PurgeError> {
    let mut found = PurgeReport::default();
    let mut families = Families::new(broker, terms);
    if !terms.jobs.is_empty() {
        for (job, looked) in looks(broker, terms, terms.jobs.clone()).await? {
            match families.stays_with(looked).await? {
                Ok(ended) => found.ended.push(ended),
                Err(stays) => found.named.push((job, stays)),
            }
        }
        for shard in broker.log.subjects().all_shards() {
            match broker.log.submissions(shard, None, 1).await {
                Err(LogError::Lost(_)) => found.lost.push(shard),
                page => drop(page?),
            }
        }
        return Ok(found);
    }
    for shard in broker.log.subjects().all_shards() {
        match walk(broker, &mut families, shard, &mut found).await {
            Err(PurgeError::Log(LogError::Lost(_))) => found.lost.push(shard),
            walked => walked?,
        }
    }
    Ok(found)
}

async fn walk(
    broker: &Broker,
    families: &mut Families<'_>,
    shard: Shard,
    found: &mut PurgeReport,
) -> Result<(), PurgeError> {
    let (terms, mut before) = (families.terms, None);
    loop {
        let page = broker.log.submissions(shard, before, PAGE).await?;
        let Some(oldest) = page.last() else { return Ok(()) };
        before = Some(oldest.seq);
        // A job that was submitted recently cannot have ended before.
        let (recent, old): (Vec<Entry>, Vec<Entry>) =
            page.into_iter().partition(|first| first.time >= terms.before);
        found.recent += recent.len() as u64;
        let jobs = old.into_iter().map(|first| first.job).collect();
        for (_, looked) in looks(broker, terms, jobs).await? {
            match families.stays_with(looked).await? {
                Ok(_) if found.ended.len() == JOBS_MAX => {
                    found.more = true;
                    return Ok(());
                }
                Ok(ended) => found.ended.push(ended),
                Err(Stays::Open) => found.open += 1,
                Err(Stays::Family) => found.family += 1,
                Err(Stays::Recent) => found.recent += 1,
                Err(Stays::Absent | Stays::Lost) => {}
            }
        }
    }
}

type Looked = Result<Ended, Stays>;

async fn looks(
    broker: &Broker,
    terms: &Terms,
    jobs: Vec<JobId>,
) -> Result<Vec<(JobId, Looked)>, PurgeError> {
    let looks = stream::iter(jobs).map(|job| async move {
        let looked = match broker.log.read(&job, Seq(0)).await {
            Err(LogError::Lost(_)) => Err(Stays::Lost),
            entries => look(&job, &entries?, terms.before),
        };
        Ok::<_, PurgeError>((job, looked))
    });
    looks.buffered(AT_A_TIME).try_collect().await
}

/// Returns the job if it has ended before a time, or the reason for which it is kept.
fn look(job: &JobId, entries: &[Entry], before: Timestamp) -> Looked {
    let Some(last) = entries.last() else { return Err(Stays::Absent) };
    let Ok(folded) = dead_letters::fold(job, entries) else { return Err(Stays::Open) };
    if !folded.has_ended() {
        return Err(Stays::Open);
    }
    if last.time >= before {
        return Err(Stays::Recent);
    }
    Ok(Ended {
        job: job.clone(),
        last: last.time,
        records: entries.len() as u64,
        bytes: entries.iter().map(size).sum(),
        until: last.seq,
        conversation: folded.view().and_then(|view| view.conversation),
        relatives: machine::commands::relatives(entries),
    })
}

/// Returns the stored size of a record. A body in the object store does not count.
fn size(entry: &Entry) -> u64 {
    let Ok(record) = &entry.record else { return 0 };
    let whole = record.to_vec().len();
    let large = match &record.body {
        proto::record::Body::Inline(body) => body.get().len(),
        proto::record::Body::Stored(_) => 0,
    };
    let elsewhere = if large > proto::limits::INLINE_BYTES_MAX { large } else { 0 };
    (whole - elsewhere) as u64
}

/// Removes jobs, and returns the removed ones. A job is kept if, since the search, it was removed
/// and submitted again, or a rollback has reopened it.
///
/// # Errors
/// Returns the number of jobs removed so far with the error.
pub async fn remove(broker: &Broker, jobs: &[Ended]) -> Result<Vec<JobId>, (usize, PurgeError)> {
    let mut removed = Vec::new();
    let mut each = stream::iter(jobs)
        .map(|ended| async move { Ok((ended, remove_one(broker, ended).await?)) })
        .buffer_unordered(AT_A_TIME);
    while let Some(one) = each.next().await {
        match one {
            Ok((ended, true)) => removed.push(ended.job.clone()),
            Ok((_, false)) => {}
            Err(error) => return Err((removed.len(), error)),
        }
    }
    Ok(removed)
}

/// Removes one job and returns `true` if it was removed. The log goes last: while it exists, a
/// repeated run finds what an interruption left behind.
async fn remove_one(broker: &Broker, ended: &Ended) -> Result<bool, PurgeError> {
    let job = &ended.job;
    let since = broker.log.read(job, Seq(ended.until.0.saturating_sub(1))).await?;
    let (Some(first), Some(last)) = (since.first(), since.last()) else { return Ok(false) };
    if first.seq != ended.until {
        return Ok(false);
    }
    // A later record may be a rollback that reopened the job.
    if last.seq != ended.until {
        let entries = broker.log.read(job, Seq(0)).await?;
        if !dead_letters::fold(job, &entries).is_ok_and(|folded| folded.has_ended()) {
            return Ok(false);
        }
    }
    for question in broker.kv.list(Bucket::Inbox, job.as_str()).await? {
        broker.kv.delete(Bucket::Inbox, &question.key).await?;
    }
    broker.kv.delete(Bucket::Receivers, job.as_str()).await?;
    if let Some(id) = &ended.conversation {
        conversations::leave(&*broker.kv, id, job).await?;
    }
    // The id cannot be submitted again while the log exists, so later records belong to this job.
    broker.log.purge_until(job, last.seq).await?;
    Ok(true)
}

#[cfg(test)]
mod tests;
