//! The texts of the mistakes in agent files.

use proto::lang::Words;

messages::texts!(agent_file);

impl From<Text<'_>> for Words {
    fn from(text: Text<'_>) -> Self {
        Self::new(|language| text.text(language))
    }
}
