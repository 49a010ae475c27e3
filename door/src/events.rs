//! The check of an event that a signal reports to a workflow.

use machine::{EventRefusal, Job};
use proto::{
    error::{Code, Failure},
    fact::Signal,
    limits,
    refusal::Text,
    strict::is_deep,
    workflow::{EVENT_DATA_BYTES_MAX, EVENTS_MAX, EventName},
};
use serde_json::Value;

/// Field of the request with the content of an event.
const DATA: &str = "signal.event.data";
/// Field of the request with the name of an event.
const NAME: &str = "signal.event.name";

/// Checks the content of an event.
///
/// # Errors
/// `too_large` for content above [`EVENT_DATA_BYTES_MAX`], and `invalid_request` for content that is
/// nested too deep.
pub(super) fn event(name: EventName, data: Value) -> Result<Signal, Failure> {
    if is_deep(&data) {
        let max = &limits::JSON_DEPTH_MAX;
        return Err(Failure::about(Code::InvalidRequest, DATA, Text::EventDeep { max }));
    }
    if data.to_string().len() > EVENT_DATA_BYTES_MAX {
        let why = Text::AtMostBytes { max: &EVENT_DATA_BYTES_MAX };
        return Err(Failure::about(Code::TooLarge, DATA, why));
    }
    Ok(Signal::Event { name, data })
}

/// Checks that the job keeps an event of this name.
///
/// # Errors
/// `invalid_request` if no node of the job waits for the name, and `too_large` if the job keeps as
/// many events as it may.
pub(super) fn check_kept(job: &Job, name: &EventName) -> Result<(), Failure> {
    let id = job.id();
    Err(match job.refuses_event(name) {
        None => return Ok(()),
        Some(EventRefusal::NoWorkflow) => {
            Failure::about(Code::InvalidRequest, NAME, Text::NoWorkflow { job: id })
        }
        Some(EventRefusal::Unawaited(events)) if events.is_empty() => {
            Failure::about(Code::InvalidRequest, NAME, Text::NoEvents { job: id })
        }
        Some(EventRefusal::Unawaited(mut events)) => {
            events.sort();
            events.dedup();
            let events = events.iter().map(EventName::as_str).collect::<Vec<_>>().join(", ");
            let text = Text::EventUnawaited { name, events: &events };
            Failure::about(Code::InvalidRequest, NAME, text)
        }
        Some(EventRefusal::Full) => {
            Failure::about(Code::TooLarge, NAME, Text::EventsFull { max: &EVENTS_MAX })
        }
    })
}
