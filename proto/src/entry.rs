//! A record at its position in a job's log.

use jiff::Timestamp;

use crate::{
    id::{JobId, Seq},
    record::{Record, Unreadable},
    subject::Family,
    trace::TraceContext,
};

/// A record at its position in the log. A body from the object store is back in place.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The position in the shard's stream.
    pub seq: Seq,
    /// The server's time of the write.
    pub time: Timestamp,
    /// The job.
    pub job: JobId,
    /// The subject's claim of who wrote it.
    pub family: Family,
    /// The record, or the reason why there is none.
    pub record: Result<Record, Unreadable>,
    /// The trace it belongs to.
    pub trace: Option<TraceContext>,
}

impl Entry {
    /// Whether only its position counts. Such an entry is read and never delivered.
    #[must_use]
    pub fn is_forged(&self) -> bool {
        matches!(self.record, Err(Unreadable::Forged))
    }
}
