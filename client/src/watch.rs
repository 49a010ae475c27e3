//! Watches of a job: a single stream that survives lost connections and restarts of servers.

use std::time::Duration;

use broker::backoff::Backoff;
use futures::{Stream, StreamExt};
use proto::{
    door::{Watch, Watched, verbs},
    error::{Code, Failure},
    event::EventId,
    id::{JobId, Seq},
};
use tokio::time::Instant;

use super::{Client, ask::understood, body, transport};

/// A watch without a message for this time is resumed. The server sends a heartbeat at least every
/// [`proto::limits::WATCH_HEARTBEAT_SECONDS`].
const SILENCE: Duration = Duration::from_secs(15);
/// Wait between two attempts to resume a watch.
const BACKOFF: Backoff = Backoff::doubling(Duration::from_millis(100), Duration::from_secs(3));

/// The options of [`Client::watch`].
#[derive(Debug, Clone, Copy)]
pub struct WatchOptions {
    /// Position after which records are sent.
    pub after: Seq,
    /// `true` to include live output of running work.
    pub live: bool,
    /// Time for which the server may be unreachable before the watch fails.
    pub patience: Duration,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self { after: Seq(0), live: false, patience: Duration::from_secs(60) }
    }
}

/// The options of [`Client::events`].
#[derive(Debug, Clone, Copy)]
pub struct EventOptions {
    /// Id after which events are sent.
    pub after: EventId,
    /// `true` to include live output of running work.
    pub live: bool,
    /// Time for which the server may be unreachable before the watch fails.
    pub patience: Duration,
}

impl Default for EventOptions {
    fn default() -> Self {
        let WatchOptions { after: _, live, patience } = WatchOptions::default();
        Self { after: EventId::START, live, patience }
    }
}

impl Client {
    /// Watches a job until it ends. Every record after `after` is yielded exactly once and in
    /// order, over as many connections as necessary; views may repeat. The last item is
    /// [`Watched::End`] when the job has ended, or an error if the server refuses or stays
    /// unreachable. Heartbeats are not yielded.
    pub fn watch(
        &self,
        job: &JobId,
        options: WatchOptions,
    ) -> impl Stream<Item = Result<Watched, Failure>> + Send + 'static {
        let WatchOptions { after, live, patience } = options;
        let (job, events, after_event) = (job.clone(), false, None);
        self.follow(Watch { job, after, live, events, after_event }, patience)
    }

    /// Watches a job like [`Client::watch`], with events in place of records: every event after
    /// `after` is yielded exactly once and in order.
    pub fn events(
        &self,
        job: &JobId,
        options: EventOptions,
    ) -> impl Stream<Item = Result<Watched, Failure>> + Send + 'static {
        let EventOptions { after, live, patience } = options;
        let (job, events, after_event) = (job.clone(), true, Some(after));
        self.follow(Watch { job, after: Seq(0), live, events, after_event }, patience)
    }

    /// Watches from the position in the request, over as many connections as necessary.
    fn follow(
        &self,
        mut request: Watch,
        patience: Duration,
    ) -> impl Stream<Item = Result<Watched, Failure>> + Send + 'static {
        let client = self.clone();
        async_stream::stream! {
            let mut heard = Instant::now();
            let mut backoff = BACKOFF;
            loop {
                let (mut messages, mut broken) = match client.open(&request).await {
                    Ok(messages) => (messages, None),
                    Err(failure) => (futures::stream::empty().boxed(), Some(failure)),
                };
                while let Some(message) = messages.next().await {
                    match message {
                        Ok(Watched::Record { seq, .. }) if seq <= request.after => {}
                        Ok(Watched::Event { event }) if Some(event.id) <= request.after_event => {}
                        Ok(Watched::Heartbeat) => heard = Instant::now(),
                        Ok(Watched::End { error: Some(failure) }) => {
                            broken = Some(*failure);
                            break;
                        }
                        Ok(Watched::End { error: None }) => {
                            yield Ok(Watched::End { error: None });
                            return;
                        }
                        Ok(message) => {
                            passed(&message, &mut request);
                            (heard, backoff) = (Instant::now(), BACKOFF);
                            yield Ok(message);
                        }
                        Err(failure) => {
                            broken = Some(failure);
                            break;
                        }
                    }
                }
                drop(messages);
                let failure = broken.unwrap_or_else(silent);
                if !passes(failure.code) || heard.elapsed() > patience {
                    yield Err(failure);
                    return;
                }
                tracing::debug!(job = %request.job, after = %request.after, %failure, "a watch is taken up anew");
                tokio::time::sleep(backoff.pause()).await;
            }
        }
    }

    async fn open(
        &self,
        request: &Watch,
    ) -> Result<futures::stream::BoxStream<'static, Result<Watched, Failure>>, Failure> {
        let payload = body(request)?;
        let subject = self.subjects.service(verbs::WATCH);
        let asked = self.bus.request_many(subject, payload, self.context(), SILENCE).await;
        let answers = asked.map_err(|error| transport(&error))?;
        Ok(answers
            .map(|answer| match answer {
                Ok(message) => understood(verbs::WATCH, &message.payload),
                Err(error) => Err(transport(&error)),
            })
            .boxed())
    }
}

/// Advances the request's position past a message.
fn passed(message: &Watched, request: &mut Watch) {
    match message {
        Watched::Record { seq, .. } => request.after = *seq,
        Watched::Event { event } => request.after_event = Some(event.id),
        Watched::View { .. } | Watched::Live { .. } | Watched::Heartbeat | Watched::End { .. } => {}
    }
}

fn silent() -> Failure {
    Failure::new(Code::Timeout, "the server says nothing any more")
}

/// Returns `true` if a new watch may succeed.
fn passes(code: Code) -> bool {
    match code {
        Code::Unavailable | Code::Timeout | Code::Overloaded => true,
        Code::InvalidRequest
        | Code::InvalidEncoding
        | Code::TooDeep
        | Code::TooLarge
        | Code::InvalidId
        | Code::UnsupportedVersion
        | Code::UnknownAgent
        | Code::UnknownPrice
        | Code::IdempotencyConflict
        | Code::NotFound
        | Code::AlreadyAnswered
        | Code::Closed
        | Code::Stale
        | Code::WouldRepeat
        | Code::InvalidAnswer
        | Code::JobEnded
        | Code::Forbidden
        | Code::Poisoned
        | Code::Internal => false,
    }
}
