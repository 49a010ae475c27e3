//! The progress of a shard's queues, from which an audit proves that no record was forgotten.

use proto::{
    decision::DecisionKind,
    id::{JobId, Pool, Seq, TimerName},
};

/// A queue of a shard: its facts, or its commands of one kind and pool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, derive_more::Display)]
pub enum Queue {
    /// Facts, consumed by the shard's supervisor.
    #[display("facts")]
    Facts,
    /// Commands of one kind, consumed by the workers of one pool.
    #[display("{_0}.{_1}")]
    Commands(DecisionKind, Pool),
}

/// The progress of a queue. Of the records between `done` and `delivered`, the broker reports how
/// many are unacknowledged, but not which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The queue that this progress describes.
    pub queue: Queue,
    /// Every record up to this position is acknowledged.
    pub done: Seq,
    /// No record after this position was ever delivered.
    pub delivered: Seq,
    /// The number of delivered records without an acknowledgement.
    pub unacknowledged: u64,
    /// The number of records that were never delivered.
    pub pending: u64,
}

/// The state of a record in its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whereabouts {
    /// Never delivered.
    Queued,
    /// Delivered, and possibly not yet acknowledged.
    Delivered,
    /// Acknowledged: no redelivery.
    Done,
}

impl Progress {
    /// Returns the state of the record at `seq`.
    #[must_use]
    pub fn of(&self, seq: Seq) -> Whereabouts {
        if seq > self.delivered {
            Whereabouts::Queued
        } else if seq > self.done && self.unacknowledged > 0 {
            Whereabouts::Delivered
        } else {
            Whereabouts::Done
        }
    }
}

/// An armed timer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Armed {
    /// The job that the timer belongs to.
    pub job: JobId,
    /// The timer's name, unique within its job.
    pub timer: TimerName,
}
