//! The gateway's own texts.

use proto::lang::Words;

messages::texts!(gateway);

impl From<Text<'_>> for Words {
    fn from(text: Text<'_>) -> Self {
        Self::new(|language| text.text(language))
    }
}
