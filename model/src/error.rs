//! Failures of a model call, as a closed set.
//!
//! Every word of an error is this crate's own: the detail is a `&'static str`, so that by type no
//! key, no prompt and no provider's message can enter it.

use std::{sync::Arc, time::Duration};

/// The phase of a call whose time ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Opening the connection.
    Connect,
    /// From the request to the first piece of the reply.
    FirstToken,
    /// Between two pieces of the reply.
    Idle,
    /// The whole call, retries included.
    Total,
}

impl Phase {
    /// The phase in words, for messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::FirstToken => "first token",
            Self::Idle => "idle",
            Self::Total => "total",
        }
    }
}

/// The kind of a [`ModelError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The configuration of the provider cannot work.
    Config,
    /// The key is missing, wrong or not allowed to use this model.
    Auth,
    /// The account has no credit left; waiting does not help.
    Quota,
    /// Too many requests; see [`ModelError::retry_after`].
    RateLimited,
    /// The provider reports overload (503, 529).
    Overloaded,
    /// The provider failed in another way that is its own fault (500, 502, 504, 408, 409).
    ProviderFailed,
    /// The provider refuses the request as it is written.
    InvalidRequest,
    /// A time limit was reached.
    Timeout {
        /// The phase.
        which: Phase,
    },
    /// The reply stopped without its end.
    CutStream,
    /// The token limit cut a reply that may not be used half: tool calls, or nothing but thought.
    CutByLength,
    /// The reply is larger than the configured bound.
    TooLarge,
    /// The model refused, or a content filter withheld the reply.
    Refused,
    /// The reply breaks the provider's own format.
    Malformed,
    /// Two tool calls of one reply carry the same id.
    DuplicateCall,
    /// The provider cannot be reached, or dropped the connection.
    Unreachable,
    /// The reply holds neither text nor tool calls.
    Empty,
}

impl ErrorKind {
    /// A stable word for logs, metrics and records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Auth => "auth",
            Self::Quota => "quota",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::ProviderFailed => "provider_failed",
            Self::InvalidRequest => "invalid_request",
            Self::Timeout { which: Phase::Connect } => "timeout_connect",
            Self::Timeout { which: Phase::FirstToken } => "timeout_first_token",
            Self::Timeout { which: Phase::Idle } => "timeout_idle",
            Self::Timeout { which: Phase::Total } => "timeout_total",
            Self::CutStream => "cut_stream",
            Self::CutByLength => "cut_by_length",
            Self::TooLarge => "too_large",
            Self::Refused => "refused",
            Self::Malformed => "malformed",
            Self::DuplicateCall => "duplicate_call",
            Self::Unreachable => "unreachable",
            Self::Empty => "empty",
        }
    }

    /// The same request may succeed later.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        match self {
            Self::RateLimited
            | Self::Overloaded
            | Self::ProviderFailed
            | Self::Timeout { .. }
            | Self::CutStream
            | Self::Malformed
            | Self::DuplicateCall
            | Self::Unreachable
            | Self::Empty => true,
            Self::Config
            | Self::Auth
            | Self::Quota
            | Self::InvalidRequest
            | Self::CutByLength
            | Self::TooLarge
            | Self::Refused => false,
        }
    }
}

/// A failed call to a model. Safe to show and to log: it holds no key and no prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}{}{}", self.status_text(), self.endpoint_text())]
pub struct ModelError {
    kind: ErrorKind,
    detail: &'static str,
    status: Option<u16>,
    retry_after: Option<Duration>,
    endpoint: Option<Arc<str>>,
    attempts: u32,
}

impl ModelError {
    /// An error of a kind, in words of this program (never a provider's).
    #[must_use]
    pub const fn new(kind: ErrorKind, detail: &'static str) -> Self {
        Self { kind, detail, status: None, retry_after: None, endpoint: None, attempts: 1 }
    }

    /// A time limit was reached.
    #[must_use]
    pub const fn timeout(which: Phase) -> Self {
        let detail = match which {
            Phase::Connect => "the connection to the model provider was not opened in time",
            Phase::FirstToken => "the model did not start its reply in time",
            Phase::Idle => "the model stopped sending in the middle of its reply",
            Phase::Total => "the model did not finish in the time allowed for the whole call",
        };
        Self::new(ErrorKind::Timeout { which }, detail)
    }

    /// The kind of failure.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The failure in words.
    #[must_use]
    pub const fn detail(&self) -> &'static str {
        self.detail
    }

    /// The HTTP status the provider answered with, when there was an answer.
    #[must_use]
    pub const fn status(&self) -> Option<u16> {
        self.status
    }

    /// The pause that the provider asks for before the next attempt.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// The number of attempts, including the failed one.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// The same request may succeed later.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        self.kind.is_transient()
    }

    pub(crate) const fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    pub(crate) const fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    pub(crate) const fn with_attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    pub(crate) fn at(mut self, endpoint: &Arc<str>) -> Self {
        self.endpoint = Some(Arc::clone(endpoint));
        self
    }

    fn status_text(&self) -> String {
        self.status.map(|status| format!(" (HTTP {status})")).unwrap_or_default()
    }

    fn endpoint_text(&self) -> String {
        self.endpoint.as_ref().map(|at| format!(" [{at}]")).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_status_and_endpoint() {
        let error = ModelError::new(ErrorKind::RateLimited, "too many requests")
            .with_status(429)
            .at(&Arc::from("http://127.0.0.1:1"));
        assert_eq!(error.to_string(), "too many requests (HTTP 429) [http://127.0.0.1:1]");
        assert!(error.is_transient());
    }

    #[test]
    fn a_refusal_is_not_tried_again() {
        for kind in
            [ErrorKind::Refused, ErrorKind::Auth, ErrorKind::TooLarge, ErrorKind::CutByLength]
        {
            assert!(!kind.is_transient(), "{kind:?}");
        }
    }
}
