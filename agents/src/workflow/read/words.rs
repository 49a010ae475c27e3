//! The texts of the mistakes in workflow files.

use proto::lang::Words;

messages::texts!(workflow_file);

impl From<Text<'_>> for Words {
    fn from(text: Text<'_>) -> Self {
        Self::new(|language| text.text(language))
    }
}
