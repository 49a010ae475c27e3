//! The texts of the doctor's findings.

use proto::lang::Words;

messages::texts!(doctor);

impl From<Text<'_>> for Words {
    fn from(text: Text<'_>) -> Self {
        Self::new(|language| text.text(language))
    }
}
