//! Watching a job: one stream, whatever happens to the connection and to the servers behind it.

use std::time::Duration;

use futures::{Stream, StreamExt};
use proto::{
    door::{Watch, Watched, verbs},
    error::{Code, Failure},
    id::{JobId, Seq},
};
use tokio::time::Instant;

use super::{Client, ask::understood, body, transport};

/// A watch that says nothing for this long is taken up anew. The server says at least every
/// [`proto::limits::WATCH_HEARTBEAT_SECONDS`] that it is there.
const SILENCE: Duration = Duration::from_secs(15);
/// First wait before a watch is taken up anew.
const RETRY: Duration = Duration::from_millis(100);
/// Longest such wait.
const RETRY_MAX: Duration = Duration::from_secs(3);

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
        let client = self.clone();
        let job = job.clone();
        async_stream::stream! {
            let WatchOptions { mut after, live, patience } = options;
            let mut heard = Instant::now();
            let mut wait = RETRY;
            loop {
                let request = Watch { job: job.clone(), after, live };
                let (mut messages, mut broken) = match client.open(&request).await {
                    Ok(messages) => (messages, None),
                    Err(failure) => (futures::stream::empty().boxed(), Some(failure)),
                };
                while let Some(message) = messages.next().await {
                    match message {
                        Ok(Watched::Record { seq, .. }) if seq <= after => {}
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
                            if let Watched::Record { seq, .. } = &message {
                                after = *seq;
                            }
                            (heard, wait) = (Instant::now(), RETRY);
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
                tracing::debug!(%job, %after, %failure, "a watch is taken up anew");
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(RETRY_MAX);
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

fn silent() -> Failure {
    Failure::new(Code::Timeout, "the server says nothing any more")
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
        | Code::IdempotencyConflict
        | Code::NotFound
        | Code::AlreadyAnswered
        | Code::Closed
        | Code::Stale
        | Code::InvalidAnswer
        | Code::JobEnded
        | Code::Forbidden
        | Code::Poisoned
        | Code::Internal => false,
    }
}
