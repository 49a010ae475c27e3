//! Watching a job: one stream, whatever happens to the connection and to the servers behind it.

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

/// A watch that is silent for this long is resumed. The server sends a heartbeat at least every
/// [`proto::limits::WATCH_HEARTBEAT_SECONDS`].
const SILENCE: Duration = Duration::from_secs(15);
/// Between two attempts to resume a watch.
const BACKOFF: Backoff = Backoff::doubling(Duration::from_millis(100), Duration::from_secs(3));

/// How a job is watched.
#[derive(Debug, Clone, Copy)]
pub struct WatchOptions {
    /// Records after this position only.
    pub after: Seq,
    /// Whether what is said while work is done is wanted too.
    pub live: bool,
    /// How long the server may be out of reach before the watch gives up.
    pub patience: Duration,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self { after: Seq(0), live: false, patience: Duration::from_secs(60) }
    }
}

/// How the events of a job are watched.
#[derive(Debug, Clone, Copy)]
pub struct EventOptions {
    /// Events after this one only.
    pub after: EventId,
    /// Whether what is said while work is done is wanted too.
    pub live: bool,
    /// How long the server may be out of reach before the watch gives up.
    pub patience: Duration,
}

impl Default for EventOptions {
    fn default() -> Self {
        let WatchOptions { after: _, live, patience } = WatchOptions::default();
        Self { after: EventId::START, live, patience }
    }
}

impl Client {
    /// Watches a job until it ends. Every record after `after` comes exactly once and in order,
    /// over as many connections as that takes; views repeat. The last item is [`Watched::End`]
    /// when the job has ended, or an error when the server refuses or stays out of reach.
    /// Heartbeats are not passed on.
    pub fn watch(
        &self,
        job: &JobId,
        options: WatchOptions,
    ) -> impl Stream<Item = Result<Watched, Failure>> + Send + 'static {
        let WatchOptions { after, live, patience } = options;
        let (job, events, after_event) = (job.clone(), false, None);
        self.follow(Watch { job, after, live, events, after_event }, patience)
    }

    /// The same in events: every event after `after` comes exactly once and in order.
    pub fn events(
        &self,
        job: &JobId,
        options: EventOptions,
    ) -> impl Stream<Item = Result<Watched, Failure>> + Send + 'static {
        let EventOptions { after, live, patience } = options;
        let (job, events, after_event) = (job.clone(), true, Some(after));
        self.follow(Watch { job, after: Seq(0), live, events, after_event }, patience)
    }

    /// Watches from where the request says, over as many connections as that takes.
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
                tracing::debug!(job = %request.job, after = %request.after, %failure, "a watch is resumed");
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

/// What was seen is not asked for again.
fn passed(message: &Watched, request: &mut Watch) {
    match message {
        Watched::Record { seq, .. } => request.after = *seq,
        Watched::Event { event } => request.after_event = Some(event.id),
        Watched::View { .. } | Watched::Live { .. } | Watched::Heartbeat | Watched::End { .. } => {}
    }
}

fn silent() -> Failure {
    Failure::new(Code::Timeout, "the server stopped answering")
}

/// Whether asking again may help.
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
