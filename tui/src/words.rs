//! The texts of the terminal user interface.

use proto::lang::Words;

messages::texts!(tui);

impl From<Text<'_>> for Words {
    fn from(text: Text<'_>) -> Self {
        Self::new(|language| text.text(language))
    }
}
