//! The position of a record in its log, and whether the record counted.

use jiff::Timestamp;
use proto::{entry::Entry, id::Seq};

/// The position and the time of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// Position in the stream.
    pub seq: Seq,
    /// Time of storage, by the server's clock.
    pub time: Timestamp,
}

impl At {
    /// Returns the position and time of an entry.
    #[must_use]
    pub fn of(entry: &Entry) -> Self {
        Self { seq: entry.seq, time: entry.time }
    }
}

/// The effect of a fact on the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    Yes,
    /// The fact came too late, came twice, or is for unknown work.
    No,
}

impl From<bool> for Counted {
    fn from(counted: bool) -> Self {
        if counted { Self::Yes } else { Self::No }
    }
}
