//! The write of a record on JetStream, and the interpretation of the server's reply.

use std::time::Duration;

use async_nats::{HeaderMap, HeaderValue};
use async_trait::async_trait;
use bytes::Bytes;
use proto::{
    id::Seq,
    record::Record,
    trace::{TRACEPARENT, TraceContext},
};

use super::words::{Text, drift};
use super::{
    link::{AskError, Link, PubAck, Refusal},
    mark, read,
};
use crate::log::{
    LogError,
    settle::{GuardedWrite, Occupant, Reply, Write},
};

/// A write of a record.
///
/// It carries no `Nats-Msg-Id`: the server would remember every id for two minutes, a gigabyte at
/// ten thousand writes a second, to reject duplicates that a guard, a read before the next attempt or
/// the fold rejects anyway.
#[derive(Debug)]
pub(super) struct Publish<'a> {
    pub(super) link: &'a Link,
    pub(super) stream: String,
    pub(super) subject: String,
    pub(super) headers: HeaderMap,
    pub(super) payload: Bytes,
    pub(super) id: String,
    pub(super) guard: Option<Guard>,
    /// Longest wait for the acknowledgement of one attempt.
    pub(super) limit: Duration,
}

/// A condition: the last message under the filter is at this position.
#[derive(Debug)]
pub(super) struct Guard {
    pub(super) filter: String,
    pub(super) after: Seq,
}

impl Publish<'_> {
    /// Adds the headers of a guard.
    pub(super) fn guarded(mut self, filter: String, after: Seq) -> Self {
        self.headers.insert(
            async_nats::header::NATS_EXPECTED_LAST_SUBJECT_SEQUENCE,
            HeaderValue::from(after.0),
        );
        if filter != self.subject {
            self.headers.insert("Nats-Expected-Last-Subject-Sequence-Subject", plain(&filter));
        }
        self.guard = Some(Guard { filter, after });
        self
    }
}

/// Builds the headers of every message of a job.
pub(super) fn headers(subject: &str, trace: TraceContext) -> HeaderMap {
    let mut headers = HeaderMap::new();
    mark::mark(&mut headers, subject);
    headers.insert(TRACEPARENT, plain(&trace.to_string()));
    headers
}

/// Builds a header value from a text of Callboard's own: an id, a subject, a time.
pub(super) fn plain(text: &str) -> HeaderValue {
    text.parse().expect("a subject, an id and a time hold no line break")
}

#[async_trait]
impl Write for Publish<'_> {
    async fn publish(&self) -> Reply {
        let (headers, payload) = (self.headers.clone(), self.payload.clone());
        match self.link.write_within(self.limit, &self.subject, headers, payload).await {
            Ok(PubAck { stream, seq }) if stream == self.stream => Reply::Stored(Seq(seq)),
            Ok(PubAck { stream, .. }) => {
                let (subject, wanted) = (&self.subject, &self.stream);
                Reply::Refused(drift(Text::StoredElsewhere { subject, stream: &stream, wanted }))
            }
            Err(AskError::NoResponders(_)) if self.link.lacks(&self.stream).await => {
                Reply::Refused(lost(&self.stream))
            }
            Err(error) => reply(error),
        }
    }

    async fn stored(&self) -> Result<Option<Seq>, LogError> {
        let last = read::last_at_leader(self.link, &self.stream, &self.subject).await?;
        let is_this = |message: &read::Stored| record_id(message).as_ref() == Some(&self.id);
        Ok(last.filter(is_this).map(|message| message.seq))
    }
}

/// Returns the error of a request to a shard whose stream is missing.
pub(super) fn lost(stream: &str) -> LogError {
    LogError::Lost(Text::ShardLost { stream: &stream }.into())
}

fn reply(error: AskError) -> Reply {
    if error.is_conflict() {
        return Reply::Conflict;
    }
    match error {
        // The message or its headers exceed the stream's limits.
        AskError::Refused(refusal @ Refusal { err_code: 10054 | 10097, .. }) => {
            Reply::Refused(LogError::TooLarge(refusal.to_string()))
        }
        AskError::Refused(refusal) if refusal.is_full() => {
            Reply::NotNow(LogError::Full(refusal.to_string()))
        }
        AskError::Refused(refusal) if refusal.code >= 500 => Reply::Unknown(refusal.to_string()),
        AskError::Lost(why) | AskError::Malformed(why) => Reply::Unknown(why),
        // No server received the write.
        error @ AskError::NoResponders(_) => Reply::NotNow(error.into()),
        error @ (AskError::Denied(_) | AskError::TooLarge(_) | AskError::Refused(_)) => {
            Reply::Refused(error.into())
        }
    }
}

#[async_trait]
impl GuardedWrite for Publish<'_> {
    fn id(&self) -> &str {
        &self.id
    }

    async fn occupant(&self) -> Result<Option<Occupant>, LogError> {
        let Some(Guard { filter, after }) = &self.guard else { return Ok(None) };
        let found = read::next_at_leader(self.link, &self.stream, filter, *after).await?;
        Ok(found.map(|message| Occupant { seq: message.seq, id: record_id(&message) }))
    }
}

/// Returns the id of a stored record; `None` if it is unreadable.
fn record_id(message: &read::Stored) -> Option<String> {
    Record::from_slice(&message.payload).ok().map(|record| record.id)
}
