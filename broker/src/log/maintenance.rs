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
    /// Returns the progress of each queue of a shard. Counts every delivery that was not
    /// acknowledged before this call.
    async fn progress(&self, shard: Shard) -> Result<Vec<Progress>, LogError>;

    /// Returns the armed timers of a job: neither fired nor cancelled.
    async fn armed(&self, job: &JobId) -> Result<BTreeSet<TimerName>, LogError>;

    /// Streams all armed timers of a shard, in memory that does not grow with their number.
    async fn timers(
        &self,
        shard: Shard,
    ) -> Result<BoxStream<'static, Result<Armed, LogError>>, LogError>;

    /// Streams the names of large values in the messages of a shard, page by page, with the job of
    /// each message if its subject is readable. Includes unreadable messages, and text that only
    /// looks like such a name. Covers every record whose write had been acknowledged to any client
    /// before this call.
    async fn object_refs(
        &self,
        shard: Shard,
    ) -> Result<BoxStream<'static, Result<Vec<ObjectRefs>, LogError>>, LogError>;

    /// Removes a job's log, irreversibly. Afterwards its id may be submitted again.
    async fn purge(&self, job: &JobId) -> Result<(), LogError>;

    /// Removes a job's records up to a position and the timers armed before it, irreversibly, and
    /// returns the number of messages removed. Later records stay.
    async fn purge_until(&self, job: &JobId, until: Seq) -> Result<u64, LogError>;

    /// Returns the size of a shard and of its queues.
    async fn load(&self, shard: Shard) -> Result<ShardLoad, LogError>;

    /// Returns the disk space used and allowed, over all shards, buckets and objects of the
    /// account.
    async fn storage(&self) -> Result<Storage, LogError>;

    /// Returns the name and version of the broker's program, for display.
    fn server_info(&self) -> String;

    /// Sends a small request to the broker and waits for the reply. Returns a number that changes
    /// when the connection is lost.
    async fn ping(&self) -> Result<u64, LogError>;

    /// Writes an empty message to a shard, which the broker removes within seconds, and waits for its
    /// acknowledgement. No reader sees the message.
    ///
    /// # Errors
    /// [`LogError::Unwritable`] if the broker answers reads of the shard and not the write;
    /// [`LogError::Lost`] if the shard's stream is missing.
    async fn probe(&self, shard: Shard) -> Result<(), LogError>;

    /// Compares the streams and consumers of jobs with their required settings. Changes nothing.
    async fn check(&self) -> Result<(), LogError>;

    /// Flushes pending messages and disconnects, within a bounded time. Every later call fails.
    async fn close(&self);
}

/// The names of large values in one stored message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectRefs {
    /// The job, if the message's subject is readable.
    pub job: Option<JobId>,
    /// Every run of 64 lower-case hex digits in the payload.
    pub names: Vec<String>,
    /// Object name of the message's body, if the message is a submission or the result of a call with a
    /// stored body. Only that body names the files that came with the job or that the call published.
    pub body: Option<String>,
}

impl ObjectRefs {
    /// Collects the names in a payload.
    #[must_use]
    pub fn of(job: Option<JobId>, payload: &[u8]) -> Self {
        let names = objects::names_in(payload);
        let body = if names.is_empty() { None } else { claim::body_with_files(payload) };
        Self { job, names, body }
    }
}
