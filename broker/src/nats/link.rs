//! A connection to the server: requests and their failures.
//!
//! A pending request fails at once when the connection breaks, not after its timeout. A denied
//! request fails with the denial, although the server reports it in a separate message.

use std::{
    collections::VecDeque,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_nats::{
    Client, Event, HeaderMap, Message, Request, ServerError, client::RequestErrorKind,
};
use bytes::Bytes;
use futures::{StreamExt, stream::FuturesUnordered};
use proto::id::Seq;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{
    sync::{Semaphore, watch},
    time::Instant,
};

use super::mark::{self, UnmarkedUntil};
use crate::log::LogError;

/// Largest number of concurrent writes over one connection.
const WRITES_MAX: usize = 4096;
/// The time limit for closing a connection.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);
/// Time after which a request to the JetStream API is sent again: shorter than an election. Doubles
/// with each attempt, up to [`REPEAT_MAX`].
const REPEAT_FIRST: Duration = Duration::from_millis(500);
/// Longest time between two attempts at a request to the JetStream API.
const REPEAT_MAX: Duration = Duration::from_secs(1);
/// JetStream's error code for a request to a stream that does not exist.
const STREAM_MISSING: u32 = 10059;
/// Number of denied subjects kept for their callers.
const DENIED_MAX: usize = 64;

/// A connection, shared by all its users.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) client: Client,
    pub(super) request_timeout: Duration,
    /// Number of watches over this connection.
    pub(super) watchers: AtomicUsize,
    incidents: watch::Receiver<Incidents>,
    writes: Semaphore,
    /// Known once the installation has been opened.
    unmarked_until: OnceLock<UnmarkedUntil>,
}

/// Events of the connection.
#[derive(Debug, Default)]
pub(super) struct Incidents {
    /// Number of times the connection was lost.
    lost: u64,
    /// Number of denials, and the latest of them.
    denials: u64,
    denied: VecDeque<String>,
    /// `true` once the connection is closed and will not reconnect.
    closed: bool,
}

#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum AskError {
    /// No service answers: the request was certainly not carried out.
    #[error("no responders on {0}")]
    NoResponders(String),
    /// No answer in time, or a lost connection: the request may have been carried out.
    #[error("{0}")]
    Lost(String),
    /// The server denied the caller permission.
    #[error("{0}")]
    Denied(String),
    /// The request exceeds the server's size limit.
    #[error("{0}")]
    TooLarge(String),
    /// The reply cannot be parsed.
    #[error("an answer that cannot be read: {0}")]
    Malformed(String),
    /// JetStream refused the request.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl AskError {
    /// `true` if no server answered: the same request may succeed later.
    pub(super) fn is_transient(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::NoResponders(_))
    }

    /// `true` if another message is at the expected position, according to the server.
    pub(super) fn is_conflict(&self) -> bool {
        // Codes of a check before and after the proposal to other replicas.
        matches!(self, Self::Refused(Refusal { err_code: 10071 | 10164, .. }))
    }
}

#[derive(Debug, Clone, Default, Deserialize, thiserror::Error)]
#[serde(default)]
#[error("{description} [{err_code}]")]
pub(super) struct Refusal {
    /// The class, as an HTTP status code.
    pub(super) code: u16,
    /// The exact reason, as a JetStream error code.
    pub(super) err_code: u32,
    /// The reason in words.
    pub(super) description: String,
}

impl Refusal {
    /// `true` if a limit of the account, the server or the disk is reached.
    pub(super) fn is_full(&self) -> bool {
        // 10077 covers every error of the store, not only a lack of space.
        let store = || ["maximum", "no space", "insufficient"];
        match self.err_code {
            10002 | 10023 | 10028 | 10047 | 10122 => true,
            10077 => store().iter().any(|word| self.description.contains(word)),
            _ => false,
        }
    }

    /// `true` if the subject of the request does not exist.
    pub(super) fn is_missing(&self) -> bool {
        self.code == 404
    }
}

impl From<AskError> for LogError {
    fn from(error: AskError) -> Self {
        match &error {
            AskError::NoResponders(_) | AskError::Lost(_) | AskError::Malformed(_) => {
                Self::Unavailable(error.to_string())
            }
            AskError::Denied(_) => Self::Forbidden(error.to_string()),
            AskError::TooLarge(_) => Self::TooLarge(error.to_string()),
            AskError::Refused(refusal) if refusal.err_code == STREAM_MISSING => {
                Self::Lost(error.to_string().into())
            }
            AskError::Refused(refusal) if refusal.is_full() => Self::Full(error.to_string()),
            AskError::Refused(refusal) if refusal.code >= 500 => {
                Self::Unavailable(error.to_string())
            }
            AskError::Refused(_) => Self::Drift(error.to_string().into()),
        }
    }
}

/// The sender of a connection's events, created before the connection.
#[derive(Debug, Clone)]
pub(super) struct Events(Arc<watch::Sender<Incidents>>);

impl Default for Events {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(Incidents::default())))
    }
}

impl Events {
    pub(super) fn hear(&self, event: Event) {
        match event {
            Event::Connected => tracing::info!("connected to nats-server"),
            Event::Disconnected => {
                tracing::warn!("the connection to nats-server is lost; reconnecting");
                self.0.send_modify(|incidents| incidents.lost += 1);
            }
            Event::SlowConsumer(subscription) => {
                tracing::warn!(
                    subscription,
                    slow_consumers_total = 1,
                    "messages were dropped: they arrived faster than the process read them"
                );
            }
            Event::ServerError(ServerError::Other(error))
                if error.to_ascii_lowercase().contains("permissions violation") =>
            {
                tracing::error!(error, "nats-server denied a permission");
                self.0.send_modify(|incidents| incidents.deny(error));
            }
            Event::ServerError(error) => tracing::warn!(%error, "nats-server reported an error"),
            Event::ClientError(error) => tracing::debug!(%error, "the connection to nats-server"),
            Event::LameDuckMode => tracing::info!("this nats-server is shutting down"),
            Event::Closed => self.0.send_modify(|incidents| incidents.closed = true),
            Event::Draining => {}
        }
    }
}

impl Incidents {
    fn deny(&mut self, error: String) {
        self.denials += 1;
        self.denied.push_back(error);
        if self.denied.len() > DENIED_MAX {
            self.denied.pop_front();
        }
    }

    /// Returns the denial of this subject since the first `before` denials.
    fn denial_of(&self, subject: &str, before: u64) -> Option<&String> {
        let news = usize::try_from(self.denials - before).unwrap_or(usize::MAX);
        let quoted = format!("\"{subject}\"");
        self.denied.iter().rev().take(news).find(|error| error.contains(&quoted))
    }
}

impl Link {
    pub(super) fn new(client: Client, events: &Events, request_timeout: Duration) -> Self {
        Self {
            client,
            request_timeout,
            watchers: AtomicUsize::new(0),
            incidents: events.0.subscribe(),
            writes: Semaphore::new(WRITES_MAX),
            unmarked_until: OnceLock::new(),
        }
    }

    /// Accepts the messages that an older release stored without a mark.
    pub(super) fn accept_unmarked(&self, until: UnmarkedUntil) {
        // A second opening finds the same installation.
        let _ = self.unmarked_until.set(until);
    }

    /// `true` if a stored message was published on its subject, or precedes all marks.
    pub(super) fn is_published(
        &self,
        stream: &str,
        subject: &str,
        seq: Seq,
        headers: &HeaderMap,
    ) -> bool {
        let until = self.unmarked_until.get().and_then(|until| until.get(stream));
        let is_old = until.is_some_and(|until| seq <= *until) && !mark::has_mark(headers);
        is_old || mark::is_marked(headers, subject)
    }

    /// `true` if the connection is up, as far as is known.
    pub(super) fn is_connected(&self) -> bool {
        let state = self.client.connection_state();
        state == async_nats::connection::State::Connected && !self.incidents.borrow().closed
    }

    /// Sends pending messages and closes the connection; it will not reconnect.
    pub(super) async fn close(&self) {
        let (client, mut incidents) = (self.client.clone(), self.incidents.clone());
        let closed = async {
            if client.drain().await.is_ok() {
                // Fails if the connection's task is gone already.
                let _ = incidents.wait_for(|now| now.closed).await;
            }
        };
        if tokio::time::timeout(CLOSE_PATIENCE, closed).await.is_err() {
            tracing::debug!("the connection could not be closed in time");
        }
    }

    /// Subscribes to losses of the connection.
    pub(super) fn losses(&self) -> Losses {
        let incidents = self.incidents.clone();
        let seen = incidents.borrow().lost;
        Losses { incidents, seen }
    }

    /// Sends a request and waits for one reply, for at most `limit`.
    async fn request(
        &self,
        limit: Duration,
        subject: &str,
        headers: Option<HeaderMap>,
        payload: Bytes,
    ) -> Result<Message, AskError> {
        let mut incidents = self.incidents.clone();
        let (lost, denials) = {
            let now = incidents.borrow_and_update();
            (now.lost, now.denials)
        };
        let mut request = Request::new().payload(payload).timeout(Some(limit));
        if let Some(headers) = headers {
            request = request.headers(headers);
        }
        let answer = self.client.send_request(subject.to_owned(), request);
        // The client's own time limit does not cover the wait for a place in its send queue.
        let mut answer = std::pin::pin!(tokio::time::timeout(limit, answer));
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => return answered(limit, subject, answer),
                Ok(()) = incidents.changed() => {
                    let now = incidents.borrow_and_update();
                    if let Some(error) = now.denial_of(subject, denials) {
                        return Err(AskError::Denied(error.clone()));
                    }
                    if now.lost != lost {
                        let why = format!("the connection was lost before an answer on {subject}");
                        return Err(AskError::Lost(why));
                    }
                }
            }
        }
    }

    /// Writes to a stream and waits for the acknowledgement.
    pub(super) async fn write(
        &self,
        subject: &str,
        headers: HeaderMap,
        payload: Bytes,
    ) -> Result<PubAck, AskError> {
        self.write_within(self.request_timeout, subject, headers, payload).await
    }

    /// Writes to a stream and waits for the acknowledgement, for at most `limit`.
    pub(super) async fn write_within(
        &self,
        limit: Duration,
        subject: &str,
        headers: HeaderMap,
        payload: Bytes,
    ) -> Result<PubAck, AskError> {
        let start = Instant::now();
        let place = tokio::time::timeout(limit, self.writes.acquire()).await;
        let _place = place
            .map_err(|_| AskError::Lost("earlier writes have no answer yet".to_owned()))?
            .map_err(|e| AskError::Lost(e.to_string()))?;
        // A write that waited long for its place still gets time for its answer.
        let limit = limit.saturating_sub(start.elapsed()).max(limit / 4);
        let answer = self.request(limit, subject, Some(headers), payload).await?;
        read(&answer.payload)
    }

    /// `true` if the server says that a stream does not exist.
    pub(super) async fn lacks(&self, stream: &str) -> bool {
        let info = self.ask::<Value>(&format!("STREAM.INFO.{stream}"), &json!({})).await;
        matches!(info, Err(AskError::Refused(refusal)) if refusal.is_missing())
    }

    pub(super) fn denials(&self) -> u64 {
        self.incidents.borrow().denials
    }

    /// `true` if a denial of this subject has arrived since `before`.
    pub(super) fn is_denied(&self, subject: &str, before: u64) -> bool {
        self.incidents.borrow().denial_of(subject, before).is_some()
    }

    /// Sends a JSON request to the JetStream API. While it has no answer, sends it again and awaits
    /// the answers to all attempts: without a leader a request is not answered, and the next leader
    /// never sees it, but a slow server answers an early attempt late. No attempt outlives this call,
    /// because a late one might undo what follows.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        verb: &str,
        body: &impl Serialize,
    ) -> Result<T, AskError> {
        let body = serde_json::to_vec(body).map_err(|e| AskError::Malformed(e.to_string()))?;
        let (subject, body) = (format!("$JS.API.{verb}"), Bytes::from(body));
        let (start, mut pause) = (Instant::now(), REPEAT_FIRST);
        let mut attempts = FuturesUnordered::new();
        loop {
            let left = self.request_timeout.saturating_sub(start.elapsed());
            attempts.push(self.request(left, &subject, None, body.clone()));
            let again = tokio::time::sleep(pause);
            let answer = tokio::select! {
                biased;
                answer = first(&mut attempts) => answer,
                () = again, if pause < left => {
                    pause = (pause * 2).min(REPEAT_MAX);
                    continue;
                }
            };
            if !is_read(verb) {
                while attempts.next().await.is_some() {}
            }
            return read(&answer?.payload);
        }
    }

    /// Publishes without waiting for a reply.
    pub(super) async fn tell(&self, subject: String, payload: Bytes) {
        if let Err(error) = self.client.publish(subject, payload).await {
            tracing::debug!(%error, "a message could not be sent");
        }
    }
}

/// Returns the first answer to one of the attempts, or the last error.
async fn first<F>(attempts: &mut FuturesUnordered<F>) -> Result<Message, AskError>
where
    F: Future<Output = Result<Message, AskError>>,
{
    loop {
        match attempts.next().await {
            Some(Err(_)) if !attempts.is_empty() => {}
            Some(answer) => return answer,
            None => return Err(AskError::Lost("no request was sent".to_owned())),
        }
    }
}

/// `true` for requests of the JetStream API that change nothing.
fn is_read(verb: &str) -> bool {
    ["INFO", "STREAM.INFO.", "STREAM.MSG.GET.", "CONSUMER.INFO.", "CONSUMER.LIST."]
        .iter()
        .any(|read| verb.starts_with(read))
}

fn answered(
    limit: Duration,
    subject: &str,
    answer: Result<Result<Message, async_nats::RequestError>, tokio::time::error::Elapsed>,
) -> Result<Message, AskError> {
    let timed_out = || AskError::Lost(format!("no answer on {subject} within {limit:?}"));
    let Ok(answer) = answer else { return Err(timed_out()) };
    answer.map_err(|error| match error.kind() {
        RequestErrorKind::NoResponders => AskError::NoResponders(subject.to_owned()),
        RequestErrorKind::MaxPayloadExceeded => AskError::TooLarge(error.to_string()),
        RequestErrorKind::TimedOut => timed_out(),
        RequestErrorKind::InvalidSubject => AskError::Denied(error.to_string()),
        RequestErrorKind::Other => AskError::Lost(error.to_string()),
    })
}

/// The acknowledgement of a stored write.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct PubAck {
    pub(super) stream: String,
    pub(super) seq: u64,
}

fn read<T: DeserializeOwned>(payload: &[u8]) -> Result<T, AskError> {
    #[derive(Deserialize)]
    struct Answer {
        error: Option<Refusal>,
    }
    // A refusal may have fields besides the error, and lacks those of an answer.
    match serde_json::from_slice(payload) {
        Ok(Answer { error: Some(refusal) }) => Err(refusal.into()),
        Ok(Answer { error: None }) => {
            serde_json::from_slice(payload).map_err(|e| AskError::Malformed(e.to_string()))
        }
        Err(e) => Err(AskError::Malformed(e.to_string())),
    }
}

/// A subscription to losses of the connection.
#[derive(Debug, Clone)]
pub(super) struct Losses {
    incidents: watch::Receiver<Incidents>,
    seen: u64,
}

impl Losses {
    /// Number of losses at the last call of [`Losses::take`], or at the start.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// Returns whether the connection was lost since the last call.
    pub(super) fn take(&mut self) -> bool {
        let lost = self.incidents.borrow_and_update().lost;
        std::mem::replace(&mut self.seen, lost) != lost
    }

    /// Waits until the connection is lost. Cancellation safe.
    pub(super) async fn next(&mut self) {
        while !self.take() {
            if self.incidents.changed().await.is_err() {
                // A closed connection has no further events.
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Counts a watch of the connection until it is dropped.
#[derive(Debug)]
pub(super) struct Watching(pub(super) Arc<Link>);

impl Watching {
    pub(super) fn new(link: Arc<Link>) -> Self {
        link.watchers.fetch_add(1, Ordering::Relaxed);
        Self(link)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}
