//! Stored messages as entries of the log.

use async_nats::HeaderMap;
use proto::{
    subject::{Family, Subjects},
    trace::{TRACEPARENT, TraceContext},
};

use super::read::Stored;
use crate::{
    log::{Entry, LogError, claim},
    objects::Objects,
};

/// The entry a stored message is; none for timers and for what is no record of this installation.
///
/// # Errors
/// When its body is in the object store and that could not be reached.
pub(super) async fn of(
    message: Stored,
    subjects: &Subjects,
    objects: &dyn Objects,
) -> Result<Option<Entry>, LogError> {
    let place = match subjects.parse(&message.subject) {
        Ok(place) => place,
        Err(error) => {
            tracing::warn!(%error, seq = %message.seq, "a stored message is left out");
            return Ok(None);
        }
    };
    if matches!(place.family, Family::At(_)) {
        return Ok(None);
    }
    Ok(Some(Entry {
        seq: message.seq,
        time: message.time,
        job: place.job,
        family: place.family,
        record: claim::decode(&message.payload, objects).await?,
        trace: trace(&message.headers),
    }))
}

/// The trace that headers carry, if they carry a valid one.
pub(super) fn trace(headers: &HeaderMap) -> Option<TraceContext> {
    headers.get(TRACEPARENT).and_then(|value| TraceContext::parse(value.as_str()).ok())
}
