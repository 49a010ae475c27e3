//! The error type of log operations.

use proto::error::{Code, Failure};

/// A failed operation on the log.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LogError {
    /// The broker is unreachable or has no leader. It is not known to have stored anything.
    #[error("the log cannot be reached: {0}")]
    Unavailable(String),
    /// A write was sent and its outcome could not be determined. Repeating it is safe.
    #[error("the outcome of a write is unknown: {0}")]
    Unknown(String),
    /// The stream of a shard is missing. Nothing was written. Other shards are not affected.
    #[error("{0}")]
    Lost(String),
    /// The broker answers reads of a stream and acknowledges no write to it. Repeating the write is
    /// safe.
    #[error("no write is acknowledged: {0}")]
    Unwritable(String),
    /// A storage limit of the broker is reached. Nothing was written.
    #[error("the log is full: {0}")]
    Full(String),
    /// The record exceeds the broker's size limit.
    #[error("the record is too large: {0}")]
    TooLarge(String),
    /// A stream, a consumer or the server differs from its required settings. Callboard does not
    /// repair the difference by itself.
    #[error("{0}")]
    Drift(String),
    /// The broker denied the caller permission.
    #[error("not permitted: {0}")]
    Forbidden(String),
    /// A forged message occupies the position of the job's first record: the id is unusable until
    /// it is purged. Nothing was written.
    #[error("{0}")]
    Taken(String),
    /// A value cannot be serialised as JSON.
    #[error("cannot be written as a record: {0}")]
    Invalid(String),
}

impl LogError {
    /// `true` if the same call may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::Unknown(_) | Self::Unwritable(_) | Self::Full(_) => true,
            Self::Lost(_)
            | Self::TooLarge(_)
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
            LogError::Unavailable(_) | LogError::Lost(_) | LogError::Drift(_) => Code::Unavailable,
            LogError::Unknown(_) => Code::Timeout,
            LogError::Full(_) | LogError::Unwritable(_) => Code::Overloaded,
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
