//! Reading the logs of jobs.

use std::collections::BTreeSet;

use ambassador::delegatable_trait;
use async_trait::async_trait;
use futures::stream::BoxStream;
use proto::{
    entry::Entry,
    id::{JobId, Seq, Shard},
    subject::Subjects,
};

use super::LogError;

/// Reads the logs of jobs.
#[async_trait]
#[delegatable_trait]
pub trait Reader: Send + Sync + 'static {
    /// The subjects of the installation.
    fn subjects(&self) -> &Subjects;

    /// A job's records after a position, in the order of the log, without timers. Holds every
    /// record whose write had been acknowledged to any client before this call.
    async fn read(&self, job: &JobId, after: Seq) -> Result<Vec<Entry>, LogError>;

    /// A job's records after a position, then those that are stored from now on, without a gap and
    /// in order. Ends only with an error or when it is dropped.
    async fn watch(
        &self,
        job: &JobId,
        after: Seq,
    ) -> Result<BoxStream<'static, Result<Entry, LogError>>, LogError>;

    /// First records of a shard's jobs, newest first, those before a position, at most `limit`.
    async fn submissions(
        &self,
        shard: Shard,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<Entry>, LogError>;

    /// The jobs that have ended, among at most 1,000 jobs of one shard, as far as the broker knows
    /// it cheaply. A job is left out if the door appended a fact after its end, or if a decision
    /// follows an end: it may have been rolled back.
    async fn finished_among(&self, jobs: &[JobId]) -> Result<BTreeSet<JobId>, LogError>;
}
