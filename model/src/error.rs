//! The errors of a model call, as a closed set.
//!
//! Every error text is this crate's own: the detail is a `&'static str`, so that its type excludes
//! keys, prompts and providers' messages. A provider's own words are a type of their own, which
//! [`ModelError::reason`] alone shows.

use std::{sync::Arc, time::Duration};

use proto::{
    fallback::FallbackReason,
    lang::Language,
    work_error::{ErrorClass, WorkError},
};

use crate::words::ProviderWords;

messages::translations!(model_error);

/// The phase of a call whose time limit was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", prefix = "timeout_")]
pub enum Phase {
    /// Establishing the connection.
    Connect,
    /// From the request to the first piece of the reply.
    FirstToken,
    /// Between two pieces of the reply.
    Idle,
    /// The whole call, including retries.
    Total,
}

/// The kind of a [`ModelError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ErrorKind {
    /// The provider's configuration is invalid.
    Config,
    /// The key is missing, invalid or not permitted to use this model.
    Auth,
    /// The account has no credit; waiting does not help.
    Quota,
    /// Too many requests; see [`ModelError::retry_after`].
    RateLimited,
    /// The provider reports overload (503, 529).
    Overloaded,
    /// The provider failed for another reason of its own (500, 502, 504, 408, 409).
    ProviderFailed,
    /// The provider rejected the request's content.
    InvalidRequest,
    /// The conversation exceeds the context of the model.
    ContextTooLong,
    /// A time limit was exceeded.
    #[strum(transparent)]
    Timeout {
        /// The phase whose limit was exceeded.
        which: Phase,
    },
    /// The reply ended without its end mark.
    CutStream,
    /// The token limit cut a reply that is unusable in part: tool calls, or nothing but reasoning.
    CutByLength,
    /// The reply exceeds the configured limit.
    TooLarge,
    /// The model refused, or a content filter withheld the reply.
    Refused,
    /// The reply violates the provider's own format.
    Malformed,
    /// Two tool calls of one reply have the same id.
    DuplicateCall,
    /// The provider is unreachable, or closed the connection.
    Unreachable,
    /// The reply contains neither text nor tool calls.
    Empty,
}

impl ErrorKind {
    /// Returns a stable identifier for logs, metrics and records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the text of the kind; `None` if the language has none, and the error's own text serves.
    fn text(self, language: Language) -> Option<String> {
        let text = match self {
            Self::Config => Text::Config,
            Self::Auth => Text::Auth,
            Self::Quota => Text::Quota,
            Self::RateLimited => Text::RateLimited,
            Self::Overloaded => Text::Overloaded,
            Self::ProviderFailed => Text::ProviderFailed,
            Self::InvalidRequest => Text::InvalidRequest,
            Self::ContextTooLong => Text::ContextTooLong,
            Self::Timeout { which: Phase::Connect } => Text::TimeoutConnect,
            Self::Timeout { which: Phase::FirstToken } => Text::TimeoutFirstToken,
            Self::Timeout { which: Phase::Idle } => Text::TimeoutIdle,
            Self::Timeout { which: Phase::Total } => Text::TimeoutTotal,
            Self::CutStream => Text::CutStream,
            Self::CutByLength => Text::CutByLength,
            Self::TooLarge => Text::TooLarge,
            Self::Refused => Text::Refused,
            Self::Malformed => Text::Malformed,
            Self::DuplicateCall => Text::DuplicateCall,
            Self::Unreachable => Text::Unreachable,
            Self::Empty => Text::Empty,
        };
        text.text(language)
    }

    /// Returns the reason for which another model may be asked; `None` if none would do better.
    #[must_use]
    pub const fn fallback_reason(self) -> Option<FallbackReason> {
        match self {
            Self::RateLimited | Self::Quota => Some(FallbackReason::RateLimited),
            Self::Overloaded => Some(FallbackReason::Overloaded),
            Self::ProviderFailed | Self::Unreachable | Self::Timeout { .. } => {
                Some(FallbackReason::Outage)
            }
            Self::Refused => Some(FallbackReason::Refused),
            Self::ContextTooLong => Some(FallbackReason::ContextTooLong),
            Self::Config
            | Self::Auth
            | Self::InvalidRequest
            | Self::CutStream
            | Self::CutByLength
            | Self::TooLarge
            | Self::Malformed
            | Self::DuplicateCall
            | Self::Empty => None,
        }
    }

    /// Returns the prospects of the same request later. A reply that was cut or exceeded the time
    /// for a whole call had started, so the provider could be reached: no outage.
    #[must_use]
    pub const fn class(self) -> ErrorClass {
        match self {
            Self::RateLimited
            | Self::Overloaded
            | Self::ProviderFailed
            | Self::Unreachable
            | Self::Timeout { which: Phase::Connect | Phase::FirstToken } => ErrorClass::Outage,
            Self::Timeout { which: Phase::Idle | Phase::Total }
            | Self::CutStream
            | Self::Malformed
            | Self::DuplicateCall
            | Self::Empty => ErrorClass::Transient,
            Self::Config
            | Self::Auth
            | Self::Quota
            | Self::InvalidRequest
            | Self::ContextTooLong
            | Self::CutByLength
            | Self::TooLarge
            | Self::Refused => ErrorClass::Permanent,
        }
    }
}

/// A failed model call. Safe to display and to log: it contains no key and no prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}{}{}", self.status_text(), self.endpoint_text())]
pub struct ModelError {
    kind: ErrorKind,
    detail: &'static str,
    status: Option<u16>,
    retry_after: Option<Duration>,
    endpoint: Option<Arc<str>>,
    attempts: u32,
    words: Option<ProviderWords>,
}

impl ModelError {
    /// Creates an error; `detail` is this program's text, never a provider's.
    #[must_use]
    pub const fn new(kind: ErrorKind, detail: &'static str) -> Self {
        Self {
            kind,
            detail,
            status: None,
            retry_after: None,
            endpoint: None,
            attempts: 1,
            words: None,
        }
    }

    /// Creates the error of an exceeded time limit.
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

    /// The kind of error.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The provider's HTTP status, if it answered.
    #[must_use]
    pub const fn status(&self) -> Option<u16> {
        self.status
    }

    /// The pause that the provider requested before the next attempt.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Number of attempts, including the failed one.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Returns the prospects of the same request later.
    #[must_use]
    pub const fn class(&self) -> ErrorClass {
        self.kind.class()
    }

    /// Returns whether the same request may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.class() != ErrorClass::Permanent
    }

    /// Returns the error of the unit of work that made the call.
    #[must_use]
    pub fn to_work_error(&self, language: Language) -> WorkError {
        let wait = self.retry_after();
        WorkError {
            retry_after_ms: wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            ..WorkError::new(self.reason(language), self.class())
        }
    }

    /// The provider's own words, redacted. For records: logs and traces must not contain them.
    #[must_use]
    pub const fn words(&self) -> Option<&ProviderWords> {
        self.words.as_ref()
    }

    /// Returns the error in a job's language with the provider's own words, for the job's record.
    #[must_use]
    pub fn reason(&self, language: Language) -> String {
        let error = self.kind.text(language).map_or_else(
            || self.to_string(),
            |text| text + &self.status_text() + &self.endpoint_text(),
        );
        let Some(words) = &self.words else { return error };
        let words = words.as_str();
        Text::Says { error: &error, words: &words }
            .text(language)
            .unwrap_or_else(|| format!("{error}; the provider says: {words}"))
    }

    pub(crate) fn with_words(mut self, words: Option<ProviderWords>) -> Self {
        self.words = words;
        self
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
    fn a_reason_is_in_the_language_of_the_job() {
        let error = ModelError::new(ErrorKind::RateLimited, "too many requests")
            .with_status(429)
            .with_words(crate::words::Redactor::default().words("slow down"));
        assert_eq!(
            error.reason(Language::En),
            "too many requests (HTTP 429); the provider says: slow down"
        );
        assert_eq!(
            error.reason(Language::Zh),
            "对模型服务的请求过于频繁 (HTTP 429)；模型服务的原话：slow down"
        );
    }

    #[test]
    fn a_refusal_is_not_tried_again() {
        for kind in
            [ErrorKind::Refused, ErrorKind::Auth, ErrorKind::TooLarge, ErrorKind::CutByLength]
        {
            assert_eq!(kind.class(), ErrorClass::Permanent, "{kind:?}");
        }
    }
}
