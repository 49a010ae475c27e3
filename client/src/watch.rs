//! Watches of a job: a single stream that survives lost connections and restarts of servers.

use std::time::Duration;

use broker::backoff::Backoff;
use futures::{Stream, StreamExt};
use proto::{
    door::{Request, Watch, Watched},
    error::{Code, Failure},
    event::EventId,
    id::{JobId, Seq},
};
use tokio::time::Instant;

use super::{
    Client,
    ask::understood,
    body,
    session::Position,
    spans::{Span, Spans},
    transport,
};

/// A watch without a message for this time is resumed. The server sends a heartbeat at least every
/// [`proto::limits::WATCH_HEARTBEAT_SECONDS`].
const SILENCE: Duration = Duration::from_secs(15);
/// Wait between two attempts to resume a watch.
const BACKOFF: Backoff = Backoff::doubling(Duration::from_millis(100), Duration::from_secs(3));

/// The options of a watch.
#[derive(Debug, Clone, Copy)]
pub struct WatchOptions {
    /// The items before this place are left out.
    pub from: Position,
    /// `true` to receive the text of work in progress.
    pub live: bool,
    /// `true` to end the watch after what is stored and the view.
    pub stored: bool,
    /// Time for which the server may be unreachable before the watch fails.
    pub give_up_after: Duration,
}

impl WatchOptions {
    /// Records after a position.
    #[must_use]
    pub fn records(after: Seq) -> Self {
        Self { from: Position::Records(after), ..Self::default() }
    }

    /// Events after one of them.
    #[must_use]
    pub fn events(after: EventId) -> Self {
        Self { from: Position::Events(after), ..Self::default() }
    }
}

/// All records.
impl Default for WatchOptions {
    fn default() -> Self {
        let from = Position::Records(Seq(0));
        Self { from, live: false, stored: false, give_up_after: Duration::from_secs(60) }
    }
}

impl Client {
    /// Watches a job until it ends. Every record or event after a position comes exactly once and in
    /// order, over as many connections as that takes; views repeat. The last item is
    /// [`Watched::End`] when the job has ended, the view where only what is stored is wanted, or an
    /// error when the server refuses or stays out of reach. Heartbeats are not passed on.
    pub fn watch(
        &self,
        job: &JobId,
        options: WatchOptions,
    ) -> impl Stream<Item = Result<Watched, Failure>> + Send + 'static {
        let WatchOptions { from: mut position, live, stored, give_up_after } = options;
        let mut says_stored = stored;
        let job = job.clone();
        let client = self.clone();
        async_stream::stream! {
            let mut heard = Instant::now();
            let mut backoff = BACKOFF;
            loop {
                let request = position.request(&job, live, says_stored);
                let (mut messages, mut broken) = match client.open(&request).await {
                    Ok(messages) => (messages, None),
                    Err(failure) => (futures::stream::empty().boxed(), Some(failure)),
                };
                while let Some(message) = messages.next().await {
                    match message {
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
                            if position.take(&message) {
                                (heard, backoff) = (Instant::now(), BACKOFF);
                                let is_last = stored && matches!(message, Watched::View { .. });
                                yield Ok(message);
                                if is_last {
                                    return;
                                }
                            }
                        }
                        Err(failure) => {
                            broken = Some(failure);
                            break;
                        }
                    }
                }
                drop(messages);
                let failure = broken.unwrap_or_else(silent);
                // A front door of an earlier release does not know the field; the view ends the watch.
                if says_stored && failure.code == Code::InvalidRequest {
                    says_stored = false;
                    continue;
                }
                if !failure.code.is_temporary() || heard.elapsed() > give_up_after {
                    yield Err(failure);
                    return;
                }
                tracing::debug!(%job, ?position, %failure, "a watch is resumed");
                tokio::time::sleep(backoff.pause()).await;
            }
        }
    }

    /// Returns the bars of a job's history, from the events that are stored now.
    ///
    /// # Errors
    /// Returns the server's refusal or the transport's error.
    pub async fn spans(&self, job: &JobId) -> Result<Vec<Span>, Failure> {
        let start = WatchOptions::events(EventId::START);
        let options = WatchOptions { stored: true, give_up_after: SILENCE, ..start };
        let mut items = self.watch(job, options).boxed();
        let mut spans = Spans::default();
        while let Some(item) = items.next().await {
            match item? {
                Watched::Event { event } => spans.take(&event),
                Watched::View { .. }
                | Watched::End { .. }
                | Watched::Record { .. }
                | Watched::Live { .. }
                | Watched::Heartbeat => {}
            }
        }
        Ok(spans.into_list())
    }

    async fn open(
        &self,
        request: &Watch,
    ) -> Result<futures::stream::BoxStream<'static, Result<Watched, Failure>>, Failure> {
        let payload = body(request)?;
        let subject = self.subjects.service(Watch::VERB);
        let asked = self.bus.request_many(subject, payload, self.context(), SILENCE).await;
        let answers = asked.map_err(|error| transport(&error))?;
        Ok(answers
            .map(|answer| match answer {
                Ok(message) => understood(Watch::VERB, &message.payload),
                Err(error) => Err(transport(&error)),
            })
            .boxed())
    }
}

fn silent() -> Failure {
    Failure::new(Code::Timeout, "the server stopped answering")
}
