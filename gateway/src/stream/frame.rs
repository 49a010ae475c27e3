//! The frames of a stream: items of a watch as server-sent events.

use axum::response::sse::Event;
use proto::{
    door::Watched,
    error::Failure,
    event::{EventId, EventType},
    id::Seq,
};
use serde::Serialize;

/// A server-sent event, and what tells whether a reader needs it.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    pub(super) event: Event,
    /// Size of the data in bytes.
    pub(super) bytes: usize,
}

/// What a frame has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An event of the job.
    Event(EventId, EventType),
    /// The view after a record.
    View(Seq),
    /// Text of work in progress, which may be lost.
    Live,
}

impl Frame {
    /// Converts an item; `None` for items that a reader does not need.
    pub(super) fn of(item: &Watched) -> Option<Self> {
        let (kind, (event, bytes)) = match item {
            Watched::Event { event } => {
                let (frame, bytes) = named("event", event)?;
                let kind = Kind::Event(event.id, EventType::from(&event.happened));
                (kind, (frame.id(event.id.to_string()), bytes))
            }
            Watched::View { view } => (Kind::View(view.seq), named("view", view)?),
            live @ Watched::Live { .. } => (Kind::Live, named("live", live)?),
            Watched::Record { .. } | Watched::Heartbeat | Watched::End { .. } => return None,
        };
        Some(Self { kind, event, bytes })
    }
}

/// The data of the last frame of a stream.
#[derive(Serialize)]
struct End {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

/// Returns the last frame of a stream.
pub(super) fn end(error: Option<Failure>) -> Event {
    named("end", &End { error }).map_or_else(Event::default, |(event, _)| event)
}

/// Converts a value to a server-sent event, and returns the size of the data too.
fn named(name: &str, data: &impl Serialize) -> Option<(Event, usize)> {
    let data = serde_json::to_string(data);
    let data = data
        .inspect_err(|error| tracing::error!(%error, name, "a frame cannot be written"))
        .ok()?;
    Some((Event::default().event(name).data(&data), data.len()))
}
