//! Stored messages as entries of the log.
//!
//! Who may write where is told by the broker's permissions, and two features of the server write in
//! its own name where a sender may not: a schedule, whose target is any subject of the stream, and a
//! read whose reply is asked for on one. The server leaves its marks on both, and what has them is
//! no entry, unless it is a timer that fired.

use async_nats::HeaderMap;
use proto::{
    fact::Source,
    subject::{Family, Place, Subjects},
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
    if !is_genuine(&message, &place, subjects) {
        let subject = &message.subject;
        tracing::error!(subject, seq = %message.seq, "somebody had the server write a record; it is left out");
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

/// Whether whoever wrote it had the right to write there. Only supervisors may write timers.
fn is_genuine(message: &Stored, place: &Place, subjects: &Subjects) -> bool {
    let scheduler = message.headers.get_last(SCHEDULER).map(|value| value.as_str());
    let by_timer = scheduler.is_some_and(|timer| {
        subjects
            .parse(timer)
            .is_ok_and(|at| at.job == place.job && matches!(at.family, Family::At(_)))
    });
    let clock = place.family == Family::In(Source::Clock);
    !message.relayed && if clock || scheduler.is_some() { by_timer } else { true }
}

/// What the server names a schedule by, in the message that it makes when the time has come. A
/// decision names the timer that it removes by it.
const SCHEDULER: &str = "Nats-Scheduler";

/// The trace that headers carry, if they carry a valid one.
pub(super) fn trace(headers: &HeaderMap) -> Option<TraceContext> {
    headers.get(TRACEPARENT).and_then(|value| TraceContext::parse(value.as_str()).ok())
}
