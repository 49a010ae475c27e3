//! Arguments of `mcp`.

use clap::{Args, Subcommand};
use mcp_client::settings::ServerName;

/// `mcp`.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Serve jobs and questions as tools on standard input and output
    #[command(after_help = HELP)]
    Serve,
    /// List the MCP servers whose tools Callboard calls, and the trust in them
    #[command(visible_alias = "ls")]
    List,
    /// Start an MCP server, show its command and its tools, and trust them; the operator may do it
    #[command(after_help = TRUST_HELP)]
    Trust(TrustArgs),
}

/// Names an MCP server.
#[derive(Debug, Clone, Args)]
pub(crate) struct TrustArgs {
    /// The server: NAME of `mcp.servers.NAME`
    #[arg(value_name = "NAME")]
    pub(crate) server: ServerName,
}

const HELP: &str = "\
For hosts that start an MCP server as a child process. The gateway serves the same tools over HTTP; \
docs/bridges.md has the configurations of hosts.

Examples:
  claude mcp add callboard -- callboard mcp serve";

const TRUST_HELP: &str = "\
Tools are offered after somebody has trusted them, and as long as neither they nor the command or \
address of their server change. The command starts the server on this machine, as the settings say.

Examples:
  callboard mcp trust files
  callboard mcp trust files --yes";
