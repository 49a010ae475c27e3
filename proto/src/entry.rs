//! A record at its position in a job's log.

use jiff::Timestamp;

use crate::{
    decision::Decision,
    fact::{Fact, Submitted},
    id::{JobId, Seq},
    record::{Known, Record, Unreadable},
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
    /// The record's content, when it can be read.
    #[must_use]
    pub fn known(&self) -> Option<Known> {
        self.record.as_ref().ok()?.known().ok()
    }

    /// The fact, when the record is one and can be read.
    #[must_use]
    pub fn fact(&self) -> Option<Fact> {
        if let Known::Fact(fact) = self.known()? { Some(*fact) } else { None }
    }

    /// The decision, when the record is one and can be read.
    #[must_use]
    pub fn decision(&self) -> Option<Decision> {
        if let Known::Decision(decision) = self.known()? { Some(*decision) } else { None }
    }

    /// The submission, when this is the first record of a job that can be read.
    #[must_use]
    pub fn submission(&self) -> Option<Submitted> {
        self.fact()?.into_submitted()
    }

    /// Whether only its position counts. Such an entry is read and never delivered.
    #[must_use]
    pub fn is_forged(&self) -> bool {
        matches!(self.record, Err(Unreadable::Forged))
    }
}
