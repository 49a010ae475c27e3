//! The texts of the shared rendering.

use proto::lang::Words;

messages::texts!(shown);

impl From<Text<'_>> for Words {
    fn from(text: Text<'_>) -> Self {
        Self::new(|language| text.text(language))
    }
}
