//! The messages of a conversation, in the user's language.

use proto::lang::Words;

messages::texts!(chat);

impl From<Text<'_>> for Words {
    fn from(text: Text<'_>) -> Self {
        Self::new(|language| text.text(language))
    }
}
