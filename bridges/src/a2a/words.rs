//! The texts of the A2A server.

use proto::lang::Words;

messages::texts!(a2a);

impl From<Text<'_>> for Words {
    fn from(text: Text<'_>) -> Self {
        Self::new(|language| text.text(language))
    }
}
