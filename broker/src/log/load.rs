//! The size of an installation and of its queues.

use jiff::Timestamp;
use proto::{decision::DecisionKind, id::Pool};

use super::Depth;

/// The size of one shard.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShardLoad {
    /// Records.
    pub records: u64,
    /// Their size, in bytes, as far as it is known.
    pub bytes: u64,
    /// Every command queue that a worker has opened, busy or idle.
    pub queues: Vec<QueueLoad>,
}

/// The queue of commands of one kind for one pool in one shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueLoad {
    /// The kind of command.
    pub kind: DecisionKind,
    /// The pool whose workers take them.
    pub pool: Pool,
    /// The numbers of pending and of unacknowledged commands.
    pub depth: Depth,
    /// The server's time of the oldest of them.
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
