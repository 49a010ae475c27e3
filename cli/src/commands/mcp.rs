//! `mcp serve`: an MCP server on standard input and output.

use bridges::mcp::{self, McpServer};

use crate::{
    args::{Global, McpCommand},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    output::Output,
    words::Text,
};

pub(super) async fn run(global: &Global, output: Output, command: McpCommand) -> Outcome {
    let McpCommand::Serve = command;
    let client = connect::client(global, output.quiet()).await?;
    let server = McpServer::new(client, output.language, env!("CARGO_PKG_VERSION"));
    match mcp::serve(server).await {
        Ok(()) => Ok(Exit::Success),
        Err(error) => Err(CliError::usage(Text::McpClient { why: &error })),
    }
}
