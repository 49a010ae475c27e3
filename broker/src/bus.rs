//! Ephemeral messages: presence, progress, stop hints, and requests to the front door.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use proto::{door::Verb, error::Failure, trace::TraceContext};

/// An ephemeral message.
#[derive(Debug, Clone)]
pub struct Message {
    /// The full subject, with the installation's prefix.
    pub subject: String,
    /// The payload, in the encoding that the subject implies.
    pub payload: Bytes,
}

/// A failed operation on the bus.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BusError {
    /// The broker is unreachable.
    #[error("the bus cannot be reached: {0}")]
    Unavailable(String),
    /// No service listens on the subject.
    #[error("no responders on {0}")]
    NoResponders(String),
    /// No answer arrived in time.
    #[error("no answer on {subject} within {waited:?}")]
    Timeout {
        /// The subject of the request.
        subject: String,
        /// The time that passed.
        waited: Duration,
    },
    /// The message exceeds the broker's size limit.
    #[error("the message is too large: {0} bytes")]
    TooLarge(usize),
    /// The broker denied the caller permission.
    #[error("not permitted: {0}")]
    Forbidden(String),
}

/// The headers of a request.
#[derive(Debug, Clone, Default)]
pub struct RequestContext {
    /// The caller's trace.
    pub trace: Option<TraceContext>,
    /// The caller's bearer token, if it sent one. Never logged.
    pub token: Option<String>,
}

/// A request to a service.
#[derive(Debug)]
pub struct Request {
    /// The requested verb.
    pub verb: Verb,
    /// The body, not yet parsed.
    pub payload: Bytes,
    /// Trace and token of the caller.
    pub context: RequestContext,
    /// Sends answers to the caller.
    pub reply: Box<dyn Reply>,
}

/// A request outside the front door, from a process of the same broker user.
#[derive(Debug)]
pub struct Direct {
    /// The payload, in the encoding that the subject implies.
    pub payload: Bytes,
    /// Sends answers to the caller.
    pub answer: Box<dyn Answer>,
}

/// Sends answers to the caller of a [`Direct`] request.
#[async_trait]
pub trait Answer: Send + Sync + std::fmt::Debug {
    /// Sends one of several answers.
    async fn send(&self, payload: Bytes) -> Result<(), BusError>;
}

/// Sends answers to the caller of a request.
#[async_trait]
pub trait Reply: Send + Sync + std::fmt::Debug {
    /// Returns the beginning of the caller's inbox: a permitted prefix and the word after it. The
    /// inboxes of one user, or of one connection where users have no prefix, have the same.
    fn inbox(&self) -> &str;
    /// Sends one answer. A verb that streams sends several.
    async fn send(&self, payload: Bytes) -> Result<(), BusError>;
    /// Sends one answer, and returns `false` if nobody receives it. `true` may come a second late,
    /// and where the bus cannot tell.
    async fn is_heard(&self, payload: Bytes) -> Result<bool, BusError> {
        self.send(payload).await.map(|()| true)
    }
    /// Refuses the request. The body is a [`proto::door::Refusal`]; the headers carry the refusal
    /// too.
    async fn refuse(&self, failure: Failure) -> Result<(), BusError>;
}

/// Ephemeral publish, subscribe and request. A message without a subscriber is lost.
#[async_trait]
pub trait Bus: Send + Sync + 'static {
    /// Sends a message to all subscribers. Returns once the connection has accepted it, not once it
    /// has arrived.
    async fn publish(&self, subject: String, payload: Bytes) -> Result<(), BusError>;

    /// Waits until the broker has received every message sent so far. Callers use it before they
    /// exit.
    async fn settle(&self) -> Result<(), BusError>;

    /// Streams every later message whose subject matches (`*` matches one token, `>` the rest).
    async fn subscribe(&self, subject: String) -> Result<BoxStream<'static, Message>, BusError>;

    /// Sends a request and waits for one answer. A refusal is an answer too.
    async fn request(
        &self,
        subject: String,
        payload: Bytes,
        context: RequestContext,
        timeout: Duration,
    ) -> Result<Message, BusError>;

    /// Sends a request and streams every answer; ends after `idle` without one.
    async fn request_many(
        &self,
        subject: String,
        payload: Bytes,
        context: RequestContext,
        idle: Duration,
    ) -> Result<BoxStream<'static, Result<Message, BusError>>, BusError>;

    /// Streams every request on a subject. All listeners receive each request, and each may answer
    /// it. A request counts only if its answers go below this connection's own inbox prefix:
    /// callers and listeners have the same broker user, or at least its prefix.
    async fn listen(&self, subject: String) -> Result<BoxStream<'static, Direct>, BusError>;

    /// Serves verbs of the micro service `callboard` under `<prefix>.svc.<verb>`. Requests for a
    /// verb are balanced over every process that serves it. Answers `$SRV.PING`, `INFO` and `STATS`
    /// on brokers that have them.
    async fn serve(&self, verbs: Vec<Verb>) -> Result<BoxStream<'static, Request>, BusError>;
}
