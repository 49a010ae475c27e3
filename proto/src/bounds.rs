//! The texts of the bounds of policies.

use crate::lang::Words;

messages::texts!(bounds);

impl From<Text<'_>> for Words {
    fn from(text: Text<'_>) -> Self {
        Self::new(|language| text.text(language))
    }
}
