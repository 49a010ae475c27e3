//! The place of a record in its log, and whether it counted.

use jiff::Timestamp;
use proto::{entry::Entry, id::Seq};

/// The place of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// Its position.
    pub seq: Seq,
    /// When it was stored, by the server's clock.
    pub time: Timestamp,
}

impl At {
    /// The position of an entry.
    #[must_use]
    pub fn of(entry: &Entry) -> Self {
        Self { seq: entry.seq, time: entry.time }
    }
}

/// Whether a fact changed anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    Yes,
    /// Too late, twice, or for nothing that is known.
    No,
}

impl From<bool> for Counted {
    fn from(counted: bool) -> Self {
        if counted { Self::Yes } else { Self::No }
    }
}
