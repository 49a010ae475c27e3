//! A record at its position in a job's log.

use jiff::Timestamp;

use crate::{
    decision::Decision,
    fact::{Fact, Signaled, Submitted},
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
    /// The record, or the reason why it cannot be read.
    pub record: Result<Record, Unreadable>,
    /// The trace it belongs to.
    pub trace: Option<TraceContext>,
}

impl Entry {
    /// An entry as the front door sends it to a watcher. Nothing when the family has another form.
    #[must_use]
    pub fn of_watched(
        job: &JobId,
        seq: Seq,
        family: &str,
        time: Timestamp,
        record: &serde_json::Value,
    ) -> Option<Self> {
        let family = Family::from_words(family)?;
        let record = Record::from_slice(record.to_string().as_bytes());
        Some(Self { seq, time, job: job.clone(), family, record, trace: None })
    }

    /// The record's content, when it can be read.
    #[must_use]
    pub fn known(&self) -> Option<Known> {
        self.record.as_ref().ok()?.known().ok()
    }

    /// The fact, when the record is one and can be read.
    #[must_use]
    pub fn fact(&self) -> Option<Fact> {
        self.record.as_ref().ok()?.fact()
    }

    /// The decision, when the record is one and can be read.
    #[must_use]
    pub fn decision(&self) -> Option<Decision> {
        self.record.as_ref().ok()?.decision()
    }

    /// The signal, when the record is one. Bodies of other kinds are not parsed.
    #[must_use]
    pub fn signal(&self) -> Option<Signaled> {
        let record = self.record.as_ref().ok().filter(|record| record.kind == "signaled")?;
        record.fact()?.as_signaled().cloned()
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
