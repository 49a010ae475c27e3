//! The texts about an installation that differs from its settings, or has lost a part.

use proto::lang::Words;

use crate::log::LogError;

messages::texts!(drift);

impl From<Text<'_>> for Words {
    fn from(text: Text<'_>) -> Self {
        Self::new(|language| text.text(language))
    }
}

/// Creates the error about a difference.
pub(super) fn drift(text: Text<'_>) -> LogError {
    LogError::Drift(text.into())
}
