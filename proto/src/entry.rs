//! A record with its position in a job's log.

use jiff::Timestamp;

use crate::{
    decision::Decision,
    fact::{Fact, Signaled, Submitted},
    id::{JobId, Seq},
    record::{Known, Record, Unreadable},
    subject::Family,
    trace::TraceContext,
};

/// A record with its position, time and subject. A body from the object store has been fetched and
/// put in place.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Position in the shard's stream.
    pub seq: Seq,
    /// Server time of the write.
    pub time: Timestamp,
    /// Job whose log holds the record.
    pub job: JobId,
    /// Family of the subject, which names the claimed source of a fact or the kind of a decision.
    pub family: Family,
    /// The parsed envelope, or the reason why it cannot be read.
    pub record: Result<Record, Unreadable>,
    /// Trace context of the message's headers, when the writer sent one.
    pub trace: Option<TraceContext>,
}

impl Entry {
    /// Rebuilds an entry from the fields that the front door sends to a watcher. Returns `None`
    /// when `family` is malformed.
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

    /// Returns the parsed body, or `None` when the record or its body cannot be read.
    #[must_use]
    pub fn known(&self) -> Option<Known> {
        self.record.as_ref().ok()?.known().ok()
    }

    /// Returns the fact, or `None` when the record is a decision or cannot be read.
    #[must_use]
    pub fn fact(&self) -> Option<Fact> {
        self.record.as_ref().ok()?.fact()
    }

    /// Returns the fact, or the results that a `done` stores. The list is empty for any other
    /// decision, and when the record cannot be read.
    #[must_use]
    pub fn results(&self) -> Vec<Fact> {
        self.record.as_ref().map(Record::results).unwrap_or_default()
    }

    /// Returns the decision, or `None` when the record is a fact or cannot be read.
    #[must_use]
    pub fn decision(&self) -> Option<Decision> {
        self.record.as_ref().ok()?.decision()
    }

    /// Returns the signal, or `None` when the record is of another kind. Bodies of other kinds are
    /// not parsed.
    #[must_use]
    pub fn signal(&self) -> Option<Signaled> {
        let record = self.record.as_ref().ok().filter(|record| record.kind == "signaled")?;
        record.fact()?.as_signaled().cloned()
    }

    /// Returns the submission, which is the first record of every job, or `None` for any other
    /// record.
    #[must_use]
    pub fn submission(&self) -> Option<Submitted> {
        self.fact()?.into_submitted()
    }

    /// Returns whether the record counts by its position alone. Such an entry is read from the log
    /// and never delivered to a consumer of facts.
    #[must_use]
    pub fn is_forged(&self) -> bool {
        matches!(self.record, Err(Unreadable::Forged))
    }
}
