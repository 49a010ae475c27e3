//! Failures of the log, as its callers see them.

use proto::error::{Code, Failure};

/// An operation on the log failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LogError {
    /// The broker cannot be reached or has no leader. Nothing is known to be written.
    #[error("the log cannot be reached: {0}")]
    Unavailable(String),
    /// A write was sent and its outcome could not be found out. Ask again: it is safe.
    #[error("the outcome of a write is unknown: {0}")]
    Unknown(String),
    /// There is no room: a storage limit of the broker is reached. Nothing was written.
    #[error("the log is full: {0}")]
    Full(String),
    /// The record is larger than the broker takes.
    #[error("the record is too large: {0}")]
    TooLarge(String),
    /// The stream, a consumer or the server is not as it must be. Nothing is changed by itself.
    #[error("{0}")]
    Drift(String),
    /// The caller may not do this.
    #[error("not permitted: {0}")]
    Forbidden(String),
    /// A forged message occupies the place of the job's first record: the id cannot be used until
    /// it is purged. Nothing was written.
    #[error("{0}")]
    Taken(String),
    /// A value cannot be written as JSON.
    #[error("cannot be written as a record: {0}")]
    Invalid(String),
}

impl LogError {
    /// The same call may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::Unknown(_) | Self::Full(_) => true,
            Self::TooLarge(_)
            | Self::Drift(_)
            | Self::Forbidden(_)
            | Self::Taken(_)
            | Self::Invalid(_) => false,
        }
    }
}

impl From<&LogError> for Failure {
    fn from(error: &LogError) -> Self {
        let code = match error {
            LogError::Unavailable(_) | LogError::Drift(_) => Code::Unavailable,
            LogError::Unknown(_) => Code::Timeout,
            LogError::Full(_) => Code::Overloaded,
            LogError::TooLarge(_) => Code::TooLarge,
            LogError::Forbidden(_) => Code::Forbidden,
            LogError::Taken(_) => Code::IdempotencyConflict,
            LogError::Invalid(_) => Code::InvalidRequest,
        };
        Self::new(code, error.to_string())
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        Self::from(&error)
    }
}
