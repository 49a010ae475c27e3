//! Read access to the logs of jobs.

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
    /// Returns the subjects of the installation.
    fn subjects(&self) -> &Subjects;

    /// Reads a job's records after a position, in log order, without timers. Includes every record
    /// whose write had been acknowledged to any client before this call.
    async fn read(&self, job: &JobId, after: Seq) -> Result<Vec<Entry>, LogError>;

    /// Streams a job's records after a position and then new records as they are stored, in order
    /// and without a gap. Ends only with an error or when it is dropped.
    async fn watch(
        &self,
        job: &JobId,
        after: Seq,
    ) -> Result<BoxStream<'static, Result<Entry, LogError>>, LogError>;

    /// Reads the first records of a shard's jobs, newest first: at most `limit`, all before
    /// `before`.
    async fn submissions(
        &self,
        shard: Shard,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<Entry>, LogError>;

    /// Returns which of at most 1,000 jobs of one shard have ended, as far as the broker can tell
    /// cheaply. Omits a job if the door appended a fact after its end, or if a decision follows an
    /// end: the job may have been rolled back.
    async fn finished_among(&self, jobs: &[JobId]) -> Result<BTreeSet<JobId>, LogError>;
}
