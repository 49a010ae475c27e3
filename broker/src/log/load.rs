//! How much an installation holds and what waits in it, for whoever watches it.

use jiff::Timestamp;
use proto::{decision::DecisionKind, id::Pool};

use super::Depth;

/// What one shard holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShardLoad {
    /// Records.
    pub records: u64,
    /// Their size, in bytes, as far as it is known.
    pub bytes: u64,
    /// Every queue of commands that somebody has asked for, busy or not.
    pub queues: Vec<QueueLoad>,
}

/// The commands of one kind for one pool in one shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueLoad {
    /// The kind.
    pub kind: DecisionKind,
    /// Who may take them.
    pub pool: Pool,
    /// How many wait, and how many are in somebody's hands.
    pub depth: Depth,
    /// When the oldest of both was stored, by the server's clock.
    pub oldest: Option<Timestamp>,
}

/// What the account keeps on the disks of NATS, all streams together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Storage {
    /// Bytes in use.
    pub used: u64,
    /// Bytes allowed; absent when there is no limit.
    pub limit: Option<u64>,
}
