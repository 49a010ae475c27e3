//! Messages that are not kept: presence, progress, stop hints, and the front door's requests.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use proto::{error::Failure, trace::TraceContext};

/// A message that is not kept.
#[derive(Debug, Clone)]
pub struct Message {
    /// Its subject.
    pub subject: String,
    /// Its payload.
    pub payload: Bytes,
}

/// An operation on the bus failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BusError {
    /// The broker cannot be reached.
    #[error("the bus cannot be reached: {0}")]
    Unavailable(String),
    /// Nobody serves this.
    #[error("no responders on {0}")]
    NoResponders(String),
    /// Nobody answered in time.
    #[error("no answer on {subject} within {waited:?}")]
    Timeout {
        /// The subject of the request.
        subject: String,
        /// The time that passed.
        waited: Duration,
    },
    /// The message is larger than the broker takes.
    #[error("the message is too large: {0} bytes")]
    TooLarge(usize),
    /// The caller may not do this.
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

/// One verb of a service.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Its name.
    pub verb: &'static str,
    /// Its description, shown by `$SRV.INFO`.
    pub description: &'static str,
}

/// A request to a service.
#[derive(Debug)]
pub struct Request {
    /// The verb that was asked for.
    pub verb: &'static str,
    /// The body.
    pub payload: Bytes,
    /// Its headers.
    pub context: RequestContext,
    /// The way back to the caller.
    pub reply: Box<dyn Reply>,
}

/// The way back to the caller of a request.
#[async_trait]
pub trait Reply: Send + Sync + std::fmt::Debug {
    /// Sends one answer. May be called several times for verbs that answer with a stream.
    async fn send(&self, payload: Bytes) -> Result<(), BusError>;
    /// Refuses the request: the body is a [`proto::door::Refusal`], and the headers say so too.
    async fn refuse(&self, failure: Failure) -> Result<(), BusError>;
}

/// Messages that are not kept. A message without a subscriber is lost.
#[async_trait]
pub trait Bus: Send + Sync + 'static {
    /// Sends a message to all subscribers. Returns when the connection has taken it, not when it
    /// has arrived.
    async fn publish(&self, subject: String, payload: Bytes) -> Result<(), BusError>;

    /// Waits until what was handed over has arrived at the broker: for a last word before the end.
    async fn settle(&self) -> Result<(), BusError>;

    /// Everything sent from now on to subjects that match (`*` one token, `>` the rest).
    async fn subscribe(&self, subject: String) -> Result<BoxStream<'static, Message>, BusError>;

    /// Asks and waits for one answer. A refusal is an answer too.
    async fn request(
        &self,
        subject: String,
        payload: Bytes,
        context: RequestContext,
        timeout: Duration,
    ) -> Result<Message, BusError>;

    /// Asks and takes every answer; ends when `idle` passes without one.
    async fn request_many(
        &self,
        subject: String,
        payload: Bytes,
        context: RequestContext,
        idle: Duration,
    ) -> Result<BoxStream<'static, Result<Message, BusError>>, BusError>;

    /// Serves verbs of the micro service `callboard` under `<prefix>.svc.<verb>`, sharing the
    /// requests with every other process that serves the same verb. Answers `$SRV.PING`, `INFO` and
    /// `STATS` where the broker has them.
    async fn serve(
        &self,
        endpoints: Vec<Endpoint>,
    ) -> Result<BoxStream<'static, Request>, BusError>;
}
