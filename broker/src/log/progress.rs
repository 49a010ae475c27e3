//! How far the queues of a shard have come, for whoever proves that nothing in it was forgotten.

use proto::{
    decision::DecisionKind,
    id::{JobId, Pool, Seq, TimerName},
};

/// What hands records of a shard out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Queue {
    /// Facts, to the shard's supervisor.
    Facts,
    /// Commands of one kind, to the workers of one pool.
    Commands(DecisionKind, Pool),
}

impl std::fmt::Display for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Facts => f.write_str("facts"),
            Self::Commands(kind, pool) => write!(f, "{}.{pool}", kind.as_str()),
        }
    }
}

/// How far a queue has come. Between `done` and `handed_out` some are acknowledged and some are not:
/// which, nobody says, but how many are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Which queue.
    pub queue: Queue,
    /// Everything up to here is acknowledged.
    pub done: Seq,
    /// Everything after this was never handed out.
    pub handed_out: Seq,
    /// How many were handed out and not acknowledged.
    pub unacknowledged: u64,
}

/// Where a record is that a queue is to hand out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whereabouts {
    /// It waits to be handed out.
    Queued,
    /// It was handed out, and may be one of those that are not acknowledged.
    HandedOut,
    /// It was acknowledged: it is never handed out again.
    Done,
}

impl Progress {
    /// Where the record at a position is.
    #[must_use]
    pub fn of(&self, seq: Seq) -> Whereabouts {
        if seq > self.handed_out {
            Whereabouts::Queued
        } else if seq > self.done && self.unacknowledged > 0 {
            Whereabouts::HandedOut
        } else {
            Whereabouts::Done
        }
    }
}

/// A timer that is armed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Armed {
    /// Whose.
    pub job: JobId,
    /// Its name.
    pub timer: TimerName,
}
