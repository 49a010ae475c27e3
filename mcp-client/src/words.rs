//! The texts of the MCP client.

use proto::lang::Words;

messages::texts!(mcp_client);

impl From<Text<'_>> for Words {
    fn from(text: Text<'_>) -> Self {
        Self::new(|language| text.text(language))
    }
}
