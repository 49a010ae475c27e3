//! Inspection and upkeep of an installation: audits, purges, sizes, health.

use std::collections::BTreeSet;

use ambassador::delegatable_trait;
use async_trait::async_trait;
use futures::stream::BoxStream;
use proto::id::{JobId, Seq, Shard, TimerName};

use super::{Armed, LogError, Progress, ShardLoad, Storage, claim};
use crate::objects;

/// Inspects and maintains an installation.
#[async_trait]
#[delegatable_trait]
pub trait Maintenance: Send + Sync + 'static {
    /// The progress of each queue of a shard. Counts every delivery that was not acknowledged before
    /// this call.
    async fn progress(&self, shard: Shard) -> Result<Vec<Progress>, LogError>;

    /// The timers of a job that are armed: neither fired nor canceled.
    async fn armed(&self, job: &JobId) -> Result<BTreeSet<TimerName>, LogError>;

    /// All armed timers of a shard, in memory that does not grow with their number.
    async fn timers(
        &self,
        shard: Shard,
    ) -> Result<BoxStream<'static, Result<Armed, LogError>>, LogError>;

    /// The names of large values in the messages of a shard, page by page, with the job whose record
    /// it is where its subject can be read. Includes messages that cannot be read as records, and
    /// names of other things that have the same form. Covers every record whose write had been
    /// acknowledged to any client before this call.
    async fn object_refs(
        &self,
        shard: Shard,
    ) -> Result<BoxStream<'static, Result<Vec<ObjectRefs>, LogError>>, LogError>;

    /// Removes a job's log, irreversibly. The job's id may be submitted again.
    async fn purge(&self, job: &JobId) -> Result<(), LogError>;

    /// Removes a job's records up to a position and the timers armed before it, irreversibly, and
    /// returns the number of messages removed. Later records stay.
    async fn purge_until(&self, job: &JobId, until: Seq) -> Result<u64, LogError>;

    /// The size of a shard and of its queues.
    async fn load(&self, shard: Shard) -> Result<ShardLoad, LogError>;

    /// The space that all shards, buckets and objects of the account take and may take.
    async fn storage(&self) -> Result<Storage, LogError>;

    /// The program that keeps the log, for people: its name and version.
    fn server_info(&self) -> String;

    /// Asks the broker something small and waits for the answer. Returns a number that changes
    /// when the connection is lost.
    async fn ping(&self) -> Result<u64, LogError>;

    /// Compares the streams and consumers that keep jobs with their required settings. Changes
    /// nothing.
    async fn check(&self) -> Result<(), LogError>;

    /// Flushes pending messages and disconnects, within a bounded time. Every later call fails.
    async fn close(&self);
}

/// The names of large values in one stored message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectRefs {
    /// The job, if the message's subject can be read.
    pub job: Option<JobId>,
    /// Names.
    pub names: Vec<String>,
    /// The name of a submission's body, if the message is a submission whose body is stored. That
    /// body alone names the files of its job.
    pub submission: Option<String>,
}

impl ObjectRefs {
    /// The names in a payload.
    #[must_use]
    pub fn of(job: Option<JobId>, payload: &[u8]) -> Self {
        let names = objects::names_in(payload);
        let submission = if names.is_empty() { None } else { claim::submission(payload) };
        Self { job, names, submission }
    }
}
