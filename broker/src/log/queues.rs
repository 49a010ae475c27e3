//! Delivery: facts to supervisors, commands to workers.

use std::{sync::Arc, time::Duration};

use ambassador::delegatable_trait;
use async_trait::async_trait;
use futures::stream::BoxStream;
use proto::{
    decision::DecisionKind,
    id::{HookName, JobId, Pool, Shard},
};
use tokio::sync::Semaphore;

use super::{Delivery, LogError, OutboxState, Posted};

/// An item of a shard's feed of facts.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every item is a fact, and none is kept")]
pub enum Feed {
    /// A fact. Acknowledge it after the decisions it led to are stored, never before.
    Fact(Delivery),
    /// Facts of this shard may have been delivered to another supervisor since the previous item:
    /// cached folds of its jobs can no longer be trusted. Also the first item of every feed.
    Reset,
}

/// The length of a command queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Depth {
    /// Commands that were never delivered.
    pub pending: u64,
    /// Commands that are delivered and not acknowledged.
    pub in_flight: u64,
}

/// Delivers facts to supervisors and commands to workers, at least once.
#[async_trait]
#[delegatable_trait]
pub trait Queues: Send + Sync + 'static {
    /// Subscribes to the facts of a shard. At most one feed per shard receives facts at a time;
    /// another one takes over within a few seconds of the first one's death. Unacknowledged facts
    /// are redelivered, possibly after later ones.
    async fn facts(
        &self,
        shard: Shard,
    ) -> Result<BoxStream<'static, Result<Feed, LogError>>, LogError>;

    /// Returns the jobs of a shard with delivered but unacknowledged facts: a supervisor that takes
    /// over the shard must process them first. May include other jobs with recently delivered
    /// facts.
    async fn unsettled(&self, shard: Shard) -> Result<Vec<JobId>, LogError>;

    /// Subscribes to commands of one kind for one pool, from all shards. Each command is delivered
    /// to one worker at a time and redelivered if it is neither acknowledged nor kept alive within
    /// [`Queues::ack_wait`]. The queue delivers at most as many commands as `slots` has permits; a
    /// delivery holds its permit until it is dropped.
    async fn commands(
        &self,
        kind: DecisionKind,
        pool: &Pool,
        slots: Arc<Semaphore>,
    ) -> Result<BoxStream<'static, Result<Delivery, LogError>>, LogError>;

    /// Returns the length of the queue of one kind and pool, over all shards. Creates the queue if
    /// no worker has opened it.
    async fn depth(&self, kind: DecisionKind, pool: &Pool) -> Result<Depth, LogError>;

    /// Subscribes to the outbox of a webhook, over all shards. A new one begins with the records that
    /// are stored from now on. Each position is delivered to one subscriber at a time, and otherwise
    /// as [`Queues::commands`] delivers.
    async fn outbox(
        &self,
        hook: &HookName,
        slots: Arc<Semaphore>,
    ) -> Result<BoxStream<'static, Result<Posted, LogError>>, LogError>;

    /// Switches an outbox off, so that it delivers nothing to anybody, or on again. Nothing in it is
    /// lost.
    async fn switch_outbox(&self, hook: &HookName, is_on: bool) -> Result<(), LogError>;

    /// Returns the state of an outbox, over all shards.
    async fn outbox_state(&self, hook: &HookName) -> Result<OutboxState, LogError>;

    /// Returns the time without an acknowledgement or sign of life after which a command is
    /// redelivered.
    fn ack_wait(&self) -> Duration;
}
