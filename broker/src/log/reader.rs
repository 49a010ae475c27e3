//! Read access to the logs of jobs.

use std::collections::BTreeSet;

use ambassador::delegatable_trait;
use async_trait::async_trait;
use futures::stream::BoxStream;
use jiff::Timestamp;
use proto::{
    entry::Entry,
    fact::Source,
    id::{JobId, Seq, Shard},
    subject::{Family, Subjects},
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

    /// Streams all records of a job that [`Self::read`] returns, in parts, each as soon as it is
    /// read.
    fn read_in_parts<'a>(&'a self, job: &'a JobId) -> BoxStream<'a, Result<Vec<Entry>, LogError>> {
        Box::pin(futures::stream::once(self.read(job, Seq(0))))
    }

    /// Reads a job's first record from the door, which is its submission, and nothing else of its
    /// log. Includes every record whose write had been acknowledged to any client before this call.
    async fn first(&self, job: &JobId) -> Result<Option<Entry>, LogError> {
        let is_of_door = |entry: &Entry| entry.family == Family::In(Source::Door);
        Ok(self.read(job, Seq(0)).await?.into_iter().find(is_of_door))
    }

    /// Returns the identity of a job's last record, or `None` if it has none. Includes every record
    /// whose write had been acknowledged to any client before this call. Cheaper than reading.
    async fn latest(&self, job: &JobId) -> Result<Option<Latest>, LogError> {
        let last = self.read(job, Seq(0)).await?.pop();
        Ok(last.map(|entry| Latest { seq: entry.seq, time: entry.time }))
    }

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

    /// Reads the next page of a shard's milestones after the given positions. Returns `None` if the
    /// broker cannot read them apart from the other records.
    async fn milestones(
        &self,
        shard: Shard,
        after: Passed,
    ) -> Result<Option<Milestones>, LogError> {
        let _ = (shard, after);
        Ok(None)
    }
}

/// The identity of a record: another one has another position, or, in a shard that was restored from
/// a backup, another time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latest {
    /// Its position.
    pub seq: Seq,
    /// Its server time.
    pub time: Timestamp,
}

/// The identity of a shard's contents: it changes with each record that is stored, and with each
/// that is purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardState {
    /// The last record that was stored.
    pub last: Latest,
    /// Number of records that are left.
    pub records: u64,
}

/// Progress of a reader through the milestones of a shard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Passed {
    /// Position of the last fact from the door.
    pub door: Seq,
    /// Position of the last end.
    pub end: Seq,
    /// State of the shard of which all milestones were read; `None` if that is not certain.
    pub state: Option<ShardState>,
}

/// A page of milestones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Milestones {
    /// Facts from the door, then ends; each in log order.
    pub found: Vec<Milestone>,
    /// Positions for the next page.
    pub passed: Passed,
    /// `true` if more follow.
    pub more: bool,
    /// `true` if the shard ends before the given positions: it was restored from a backup.
    pub is_rewound: bool,
}

/// A record that begins or ends a job, or that may open an ended one again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Milestone {
    /// The job.
    pub job: JobId,
    /// Position of the record.
    pub seq: Seq,
    /// Server time of the record.
    pub time: Timestamp,
    /// The record's meaning.
    pub kind: proto::milestone::Milestone,
}
