//! Arguments of `mcp`.

use clap::Subcommand;

/// `mcp`.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Serve jobs and questions as tools on standard input and output
    #[command(after_help = HELP)]
    Serve,
}

const HELP: &str = "\
For hosts that start an MCP server as a child process. The gateway serves the same tools over HTTP; \
docs/bridges.md has the configurations of hosts.

Examples:
  claude mcp add callboard -- callboard mcp serve";
