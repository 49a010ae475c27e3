//! The events of a job as a stream of server-sent events.
//!
//! A reader gets what is stored by a watch of its own, for which the front door checks its right. What
//! follows comes from a watch that all readers of the job share. A reader that is too slow for that
//! one, and each after [`ASK_AGAIN_AFTER`], begins again with a watch of its own.
//!
//! Nothing is read ahead for a reader: the response takes frames when the connection has room for
//! them, and the listener closes the connection of a reader that takes nothing. It resumes after the
//! last event that it has, by `Last-Event-ID`, and misses and repeats nothing.

mod frame;
mod shared;

use std::{convert::Infallible, time::Duration};

use axum::{
    http::HeaderName,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use client::{Client, WatchOptions, session::Position};
use futures::{Stream, StreamExt, stream::BoxStream};
use proto::{
    door::Watched,
    error::{Code, Failure},
    event::{EventId, EventType},
    id::JobId,
    limits,
    refusal::Text as Refusal,
};
use tokio::time::Instant;

pub(crate) use self::shared::SharedWatches;
use self::{
    frame::{Frame, Kind, end},
    shared::{Next, Place, Turn},
};
use crate::{Desk, limited::Open, words::Text};

/// Header that has proxies pass frames on at once.
pub(crate) const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");
/// Interval of comments on a silent stream, which keep connections alive.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Time that a browser waits before it opens a broken stream again.
pub(crate) const RETRY: Duration = Duration::from_secs(2);
/// Time for which the front door may be away before a stream begins.
pub(crate) const BEGIN_WITHIN: Duration = Duration::from_secs(5);
/// Time for which a reader waits for its turn before a stream begins.
const TURN_WITHIN: Duration = Duration::from_secs(30);
/// Time for which the front door may be away before the stream ends with its error.
const GIVE_UP_AFTER: Duration = Duration::from_secs(60);
/// Time after which the front door is asked again whether a reader may read.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(limits::WATCH_SECONDS_MAX);

/// Pause before a reader that is behind the shared watch reads from the front door.
const BEHIND: Duration = Duration::from_millis(250);

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

    pub(crate) fn has(&self, kind: EventType) -> bool {
        self.0.is_empty() || self.0.contains(&kind)
    }
}

/// Builds the response that streams a job's events until the job ends.
///
/// # Errors
/// The front door's refusal to begin the watch.
pub(crate) async fn response(
    desk: &Desk,
    client: &Client,
    job: &JobId,
    start: Start,
    place: Open,
) -> Result<Response, Failure> {
    let Start { after, live, wanted } = start;
    let (client, job, watches) = (client.clone(), job.clone(), desk.watches.clone());
    let after = after.unwrap_or_default();
    let reader = Reader { client, job, watches, live, wanted, after, position: after };
    let begin = async {
        let mut own = tokio::time::timeout(TURN_WITHIN, reader.open()).await?;
        let first = tokio::time::timeout(BEGIN_WITHIN, own.items.next()).await?;
        Ok::<_, tokio::time::error::Elapsed>((own, first))
    };
    let away = || Failure::of(Code::Unavailable, Refusal::ShuttingDown);
    let begun = desk.shutdown.run_until_cancelled(begin).await.ok_or_else(away)?;
    let late = |_| Failure::composed(Code::Unavailable, &Text::DoorAway.into());
    let (mut own, first) = begun.map_err(late)?;
    let first = first.transpose()?;
    own.items = futures::stream::iter(first.map(Ok)).chain(own.items).boxed();
    let begin = futures::stream::iter([Event::default().retry(RETRY)]);
    let frames = begin.chain(reader.frames(own));
    let frames = frames.take_until(desk.shutdown.clone().cancelled_owned());
    let frames = frames.map(move |frame| {
        // The place is free again when the response is dropped.
        let _place = &place;
        Ok::<_, Infallible>(frame)
    });
    let body = Sse::new(frames).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    Ok(([(UNBUFFERED, "no")], body).into_response())
}

/// A reader of a job's events.
struct Reader {
    client: Client,
    job: JobId,
    watches: SharedWatches,
    live: bool,
    wanted: Wanted,
    /// The last event that the reader had at the start.
    after: EventId,
    /// The place up to which the reader has everything that it wants.
    position: EventId,
}

/// The items of a watch.
struct Items {
    items: BoxStream<'static, Result<Watched, Failure>>,
    /// `true` if new records follow what is stored.
    goes_on: bool,
    /// The turn to read what is stored.
    _turn: Turn,
}

impl Reader {
    /// Opens a watch of the reader's own. If the job has no shared watch yet, it becomes that one.
    async fn open(&self) -> Items {
        let turn = self.watches.turn().await;
        let goes_on = !self.watches.has(&self.job, self.live);
        Items { items: self.watch(goes_on), goes_on, _turn: turn }
    }

    fn watch(&self, goes_on: bool) -> BoxStream<'static, Result<Watched, Failure>> {
        let options = WatchOptions {
            from: Position::Events(self.position),
            live: self.live && goes_on,
            stored: !goes_on,
            give_up_after: GIVE_UP_AFTER,
        };
        self.client.watch(&self.job, options).boxed()
    }

    /// Returns the frames of the own watch and then those of the shared one, until the job ends.
    fn frames(mut self, mut own: Items) -> impl Stream<Item = Event> + Send + 'static {
        async_stream::stream! {
            loop {
                let (mut is_over, asked) = (true, self.position);
                while let Some(item) = own.items.next().await {
                    match item {
                        Ok(item) => {
                            if let Some(frame) = self.take(&item) {
                                yield frame;
                            }
                            // Everything up to the view has come.
                            if let Watched::View { view } = item {
                                is_over = view.state.is_terminal();
                                self.position = EventId::all_of(view.seq);
                                break;
                            }
                        }
                        Err(failure) => {
                            yield end(Some(failure));
                            return;
                        }
                    }
                }
                if is_over {
                    yield end(None);
                    return;
                }
                // A watch after a place that the log has not reached tells too little for others.
                own.goes_on &= asked <= self.position;
                let mut place = self.join(own);
                let ask_again = Instant::now() + ASK_AGAIN_AFTER;
                let mut is_behind = false;
                while !is_behind && Instant::now() < ask_again {
                    let next = place.next(&mut self.position, &self.wanted);
                    match tokio::time::timeout_at(ask_again, next).await {
                        Ok(Next::Frames(frames)) => {
                            for frame in frames {
                                let is_known = matches!(frame.kind, Kind::Event(id, _) if id <= self.after);
                                if !is_known {
                                    yield frame.event.clone();
                                }
                            }
                        }
                        Ok(Next::End) => {
                            yield end(None);
                            return;
                        }
                        Ok(Next::Failed(failure)) => {
                            yield end(Some(failure));
                            return;
                        }
                        Ok(Next::Behind) => is_behind = true,
                        Err(_) => break,
                    }
                }
                drop(place);
                if is_behind {
                    tokio::time::sleep(BEHIND).await;
                }
                own = self.open().await;
            }
        }
    }

    /// Joins the shared watch of the job; the own one becomes it where the job has no other.
    fn join(&self, own: Items) -> Place {
        // A shared watch may have ended while the reader got what is stored.
        let items = || if own.goes_on { own.items } else { self.watch(true) };
        self.watches.join(&self.job, self.live, self.position, items)
    }

    /// Moves behind an item of the own watch, and returns its frame if the reader wants it.
    fn take(&mut self, item: &Watched) -> Option<Event> {
        if let Watched::Event { event } = item {
            self.position = self.position.max(event.id);
            let is_wanted =
                event.id > self.after && self.wanted.has(EventType::from(&event.happened));
            if !is_wanted {
                return None;
            }
        }
        Some(Frame::of(item)?.event)
    }
}

#[cfg(test)]
mod tests;
