//! The texts of the mistakes in the settings, of this crate's sections too.

use proto::lang::Words;

messages::texts!(config);

impl From<Text<'_>> for Words {
    fn from(text: Text<'_>) -> Self {
        Self::new(|language| text.text(language))
    }
}
