//! The error type of log operations.

use proto::{
    error::{Code, Failure},
    lang::{Language, Words},
};

messages::texts!(log_error);

/// A failed operation on the log.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", self.words().text(Language::En))]
pub enum LogError {
    /// The broker is unreachable or has no leader. It is not known to have stored anything.
    Unavailable(String),
    /// A write was sent and its outcome could not be determined. Repeating it is safe.
    Unknown(String),
    /// The stream of a shard is missing. Nothing was written. Other shards are not affected.
    Lost(Words),
    /// The broker answers reads of a stream and acknowledges no write to it. Repeating the write is
    /// safe.
    Unwritable(String),
    /// A storage limit of the broker is reached. Nothing was written.
    Full(String),
    /// The record exceeds the broker's size limit.
    TooLarge(String),
    /// A stream, a consumer or the server differs from its required settings. Callboard does not
    /// repair the difference by itself.
    Drift(Words),
    /// The broker denied the caller permission.
    Forbidden(String),
    /// A forged message occupies the position of the job's first record: the id is unusable until
    /// it is purged. Nothing was written.
    Taken(Words),
    /// A value cannot be serialised as JSON.
    Invalid(String),
}

impl LogError {
    /// Returns the error in every language. The broker's own words are in English.
    #[must_use]
    pub fn words(&self) -> Words {
        let text = match self {
            Self::Lost(why) | Self::Drift(why) | Self::Taken(why) => return why.clone(),
            Self::Unavailable(why) => Text::Unavailable { why },
            Self::Unknown(why) => Text::Unknown { why },
            Self::Unwritable(why) => Text::Unwritable { why },
            Self::Full(why) => Text::Full { why },
            Self::TooLarge(why) => Text::TooLarge { why },
            Self::Forbidden(why) => Text::Forbidden { why },
            Self::Invalid(why) => Text::Invalid { why },
        };
        Words::new(|language| text.text(language))
    }

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
        Self::composed(code, &error.words())
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        Self::from(&error)
    }
}
