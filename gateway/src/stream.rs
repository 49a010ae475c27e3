//! The events of a job as a stream of server-sent events.
//!
//! A task takes the items of the watch and puts frames into a queue of bounded length and size, from
//! which the response reads. Live text that finds the queue full is dropped, as it may be anywhere.
//! Anything else waits for the reader, and a reader that takes nothing for [`STALLED`] loses its
//! stream. It resumes after the last event that it has, by `Last-Event-ID`, and misses and repeats
//! nothing.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    http::HeaderName,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use client::{Client, WatchOptions, session::Position};
use futures::StreamExt;
use proto::{
    door::Watched,
    error::{Code, Failure},
    event::{EventId, EventType},
    id::JobId,
    refusal::Text as Refusal,
};
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{limited::Open, words::Text};

/// Header that has proxies pass frames on at once.
pub(crate) const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");
/// Largest number of frames that wait for the reader.
const FRAMES_MAX: usize = 256;
/// Largest size of the frames that wait for the reader, in KiB. A larger frame waits alone.
const WAITING_KIB_MAX: u32 = 1_024;
/// Time without progress after which a reader loses its stream.
const STALLED: Duration = Duration::from_secs(15);
/// Interval of comments on a silent stream, which keep connections alive.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Time that a browser waits before it opens a broken stream again.
pub(crate) const RETRY: Duration = Duration::from_secs(2);
/// Time for which the front door may be away before a stream begins.
pub(crate) const BEGIN_WITHIN: Duration = Duration::from_secs(5);
/// Time for which the front door may be away before the stream ends with its error.
const GIVE_UP_AFTER: Duration = Duration::from_secs(60);

/// The start of a stream.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    /// The event that the reader has last.
    pub(crate) after: Option<EventId>,
    /// `true` for the text of work in progress, too.
    pub(crate) live: bool,
    /// Events that the reader wants.
    pub(crate) wanted: Wanted,
}

/// The types of events that a reader wants: all, or some.
#[derive(Debug, Clone)]
pub(crate) struct Wanted(Vec<EventType>);

impl Wanted {
    /// Takes the types; none for all.
    pub(crate) fn of(types: Vec<EventType>) -> Self {
        Self(types)
    }

    pub(crate) fn has(&self, event: &proto::event::Event) -> bool {
        self.0.is_empty() || self.0.contains(&EventType::from(&event.happened))
    }
}

/// Builds the response that streams a job's events until the job ends.
///
/// # Errors
/// The front door's refusal to begin the watch.
pub(crate) async fn response(
    client: &Client,
    job: &JobId,
    start: Start,
    shutdown: CancellationToken,
    place: Open,
) -> Result<Response, Failure> {
    let Start { after, live, wanted } = start;
    let from = Position::Events(after.unwrap_or_default());
    let options = WatchOptions { from, live, give_up_after: GIVE_UP_AFTER };
    let mut items = client.watch(job, options).boxed();
    let first = tokio::time::timeout(BEGIN_WITHIN, items.next());
    let away = || Failure::of(Code::Unavailable, Refusal::ShuttingDown);
    let first = shutdown.run_until_cancelled(first).await.ok_or_else(away)?;
    let late = |_| Failure::composed(Code::Unavailable, &Text::DoorAway.into());
    let first = first.map_err(late)?.transpose()?;
    let items = futures::stream::iter(first.map(Ok)).chain(items);
    let items = items.filter(move |item| {
        let is_unwanted = matches!(item, Ok(Watched::Event { event }) if !wanted.has(event));
        futures::future::ready(!is_unwanted)
    });
    let (sender, mut frames) = mpsc::channel(FRAMES_MAX);
    let task = tokio::spawn(shutdown.run_until_cancelled_owned(pump(items, sender)));
    let task = AbortOnDropHandle::new(task);
    let body = async_stream::stream! {
        let (_task, _place) = (task, place);
        yield Ok::<_, Infallible>(Event::default().retry(RETRY));
        while let Some((frame, _place)) = frames.recv().await {
            yield Ok(frame);
        }
    };
    let body = Sse::new(body).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    Ok(([(UNBUFFERED, "no")], body).into_response())
}

/// A frame, and its place in the size of the queue.
type Placed = (Event, OwnedSemaphorePermit);

async fn pump(
    items: impl futures::Stream<Item = Result<Watched, Failure>>,
    frames: mpsc::Sender<Placed>,
) {
    let space = Arc::new(Semaphore::new(usize::try_from(WAITING_KIB_MAX).unwrap_or(usize::MAX)));
    let mut items = std::pin::pin!(items);
    while let Some(item) = items.next().await {
        let may_be_lost = matches!(item, Ok(Watched::Live { .. }));
        let Some((frame, bytes)) = frame(item) else { continue };
        let kib = u32::try_from(bytes / 1_024 + 1).unwrap_or(u32::MAX).min(WAITING_KIB_MAX);
        if may_be_lost {
            if let Ok(place) = Arc::clone(&space).try_acquire_many_owned(kib) {
                // Dropped where the queue is full; a closed queue ends the next frame.
                let _ = frames.try_send((frame, place));
            }
            continue;
        }
        let placed = async {
            let place = Arc::clone(&space).acquire_many_owned(kib).await.ok()?;
            frames.send((frame, place)).await.ok()
        };
        match tokio::time::timeout(STALLED, placed).await {
            Ok(Some(())) => {}
            // The reader has gone, or takes nothing.
            Ok(None) | Err(_) => return,
        }
    }
}

/// The end of a stream.
#[derive(Serialize)]
struct End {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Box<Failure>>,
}

/// Converts an item of a watch; `None` for items that a reader does not need.
fn frame(item: Result<Watched, Failure>) -> Option<(Event, usize)> {
    match item {
        Ok(Watched::Event { event }) => {
            named("event", &event).map(|(frame, bytes)| (frame.id(event.id.to_string()), bytes))
        }
        Ok(Watched::View { view }) => named("view", &view),
        Ok(live @ Watched::Live { .. }) => named("live", &live),
        Ok(Watched::Heartbeat | Watched::Record { .. }) => None,
        Ok(Watched::End { error }) => named("end", &End { error }),
        Err(failure) => named("end", &End { error: Some(Box::new(failure)) }),
    }
}

/// Converts a value to a frame, and returns its size too.
fn named(name: &str, data: &impl Serialize) -> Option<(Event, usize)> {
    let data = serde_json::to_string(data);
    let data = data
        .inspect_err(|error| tracing::error!(%error, name, "a frame cannot be written"))
        .ok()?;
    Some((Event::default().event(name).data(&data), data.len()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// An item that a reader must get, with this many bytes.
    fn must(bytes: usize) -> Watched {
        let failure = Failure::new(Code::Internal, "x".repeat(bytes));
        Watched::End { error: Some(Box::new(failure)) }
    }

    fn may() -> Watched {
        let (work, what, text) = ("g0.p1".to_owned(), "text".to_owned(), "word".to_owned());
        Watched::Live { work, attempt: 1, step: None, index: 0, what, text }
    }

    #[rstest]
    #[case::a_queue_with_room((0..FRAMES_MAX).map(|_| must(1)).collect(), FRAMES_MAX, false)]
    #[case::one_frame_too_many((0..=FRAMES_MAX).map(|_| must(1)).collect(), FRAMES_MAX, true)]
    #[case::live_text_beyond_the_queue((0..FRAMES_MAX).map(|_| must(1)).chain((0..9).map(|_| may())).collect(), FRAMES_MAX, false)]
    #[case::too_many_bytes(vec![must(600_000), must(600_000)], 1, true)]
    #[case::one_frame_above_the_size(vec![must(3_000_000)], 1, false)]
    #[tokio::test(start_paused = true)]
    async fn a_reader_that_takes_nothing_loses_live_text_and_then_its_stream(
        #[case] items: Vec<Watched>,
        #[case] waiting: usize,
        #[case] has_waited: bool,
    ) {
        let (sender, frames) = mpsc::channel(FRAMES_MAX);
        let items = futures::stream::iter(items.into_iter().map(Ok));
        let mut pump = std::pin::pin!(pump(items, sender));
        let waits = tokio::time::timeout(STALLED / 2, &mut pump).await.is_err();
        if waits {
            pump.await;
        }
        assert_eq!((frames.len(), waits), (waiting, has_waited));
    }
}
