//! The size of an installation and of its queues.

use jiff::Timestamp;
use proto::{
    decision::DecisionKind,
    id::{Pool, Seq},
};

use super::Depth;

/// The size of one shard.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShardLoad {
    /// Number of stored records.
    pub records: u64,
    /// Size of the records in bytes, as far as the broker reports it.
    pub bytes: u64,
    /// Position of the last message, also if it was removed. It never decreases, unless the server
    /// lost messages.
    pub end: Seq,
    /// Every command queue that a worker has opened, busy or idle.
    pub queues: Vec<QueueLoad>,
}

/// The queue of commands of one kind for one pool in one shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueLoad {
    /// The kind of command.
    pub kind: DecisionKind,
    /// The pool whose workers take the commands.
    pub pool: Pool,
    /// The numbers of pending and of unacknowledged commands.
    pub depth: Depth,
    /// Server time of the oldest of these commands; absent if the queue is empty or the broker does
    /// not say.
    pub oldest: Option<Timestamp>,
}

/// The disk space of the account, over all streams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Storage {
    /// Bytes in use.
    pub used: u64,
    /// Bytes allowed; absent when there is no limit.
    pub limit: Option<u64>,
}
