//! Conversion of stored messages to entries of the log.
//!
//! The broker's permissions define who may write where. Two features of the server let a sender
//! bypass them, because the server writes in its own name: a schedule, whose target is any subject
//! of the stream, and a read whose reply subject is one. The server marks both kinds of message. A
//! marked message is not trusted unless it is a fired timer.
//!
//! An untrusted message is no entry, except under a compare-and-set: a writer that could not see it
//! could never write again. There it becomes an empty entry.

use async_nats::HeaderMap;
use proto::{
    entry::Entry,
    fact::Source,
    id::JobId,
    record::Unreadable,
    subject::{Family, RecordSubject, Subjects},
    trace::{TRACEPARENT, TraceContext},
};

use super::read::Stored;
use crate::{
    log::{LogError, claim},
    objects::Objects,
};

/// Converts a stored message. Timers and foreign messages yield `None`. A forged message yields
/// [`Unreadable::Forged`] where a write could collide with it, and `None` elsewhere.
///
/// # Errors
/// If the body is in the object store and the store is unreachable.
pub(super) async fn of(
    message: Stored,
    subjects: &Subjects,
    objects: &dyn Objects,
) -> Result<Option<Entry>, LogError> {
    let place = match subjects.parse(&message.subject) {
        Ok(place) => place,
        Err(error) => {
            tracing::warn!(%error, seq = %message.seq, "a stored message is ignored");
            let job = subjects.among_decisions(&message.subject);
            return Ok(job.map(|job| forged(&message, job, among_decisions())));
        }
    };
    if matches!(place.family, Family::At(_)) {
        return Ok(None);
    }
    if !is_genuine(&message, &place, subjects) {
        let subject = &message.subject;
        tracing::error!(subject, seq = %message.seq, "a client made the server write a record; the record is ignored");
        return Ok(guarded(place.family).map(|family| forged(&message, place.job, family)));
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

/// The family of a forged message under a compare-and-set. It is no known decision, so
/// that a reader of families alone does not take it for one.
fn guarded(family: Family) -> Option<Family> {
    match family {
        Family::Do(..) | Family::UnknownDo(_) => Some(among_decisions()),
        Family::In(Source::People) => Some(family),
        Family::In(
            Source::Door
            | Source::Plan
            | Source::Turn
            | Source::Call(_)
            | Source::Crew
            | Source::Clock,
        )
        | Family::UnknownIn(_)
        | Family::At(_) => None,
    }
}

fn among_decisions() -> Family {
    Family::UnknownDo("forged".to_owned())
}

fn forged(message: &Stored, job: JobId, family: Family) -> Entry {
    let (seq, time) = (message.seq, message.time);
    Entry { seq, time, job, family, record: Err(Unreadable::Forged), trace: None }
}

/// `true` if the writer was permitted to write this message on its subject.
pub(super) fn is_record(message: &Stored, subjects: &Subjects) -> bool {
    let place = subjects.parse(&message.subject);
    place.is_ok_and(|place| is_genuine(message, &place, subjects))
}

/// `true` if the writer was permitted to write there. Only supervisors may write timers.
fn is_genuine(message: &Stored, place: &RecordSubject, subjects: &Subjects) -> bool {
    let scheduler = message.headers.get_last(SCHEDULER).map(|value| value.as_str());
    let by_timer = scheduler.is_some_and(|timer| {
        subjects
            .parse(timer)
            .is_ok_and(|at| at.job == place.job && matches!(at.family, Family::At(_)))
    });
    let clock = place.family == Family::In(Source::Clock);
    !message.foreign && if clock || scheduler.is_some() { by_timer } else { true }
}

/// Header in which the server names the schedule of a fired message. A decision uses it to name the
/// timer that it cancels.
const SCHEDULER: &str = "Nats-Scheduler";

/// Returns the trace context from the headers, if it is valid.
pub(super) fn trace(headers: &HeaderMap) -> Option<TraceContext> {
    headers.get(TRACEPARENT).and_then(|value| TraceContext::parse(value.as_str()).ok())
}
