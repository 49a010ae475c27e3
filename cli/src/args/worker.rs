//! Arguments of `worker`.

use clap::{Args, Subcommand};
use proto::id::{Pool, ToolName};

/// `worker`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkerCommand {
    /// Check that a tool worker in any language keeps the protocol
    Check(CheckWorkerArgs),
}

/// `worker check`.
#[derive(Debug, Clone, Args)]
#[command(after_help = HELP)]
pub(crate) struct CheckWorkerArgs {
    /// Pool of the worker
    #[arg(long, value_name = "POOL")]
    pub(crate) pool: Pool,
    /// Tool to call
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: ToolName,
    /// Arguments of a call that succeeds at once, as JSON; or @FILE
    #[arg(long, value_name = "JSON")]
    pub(crate) args: String,
    /// Arguments of a call that runs for 10 seconds or longer, as JSON; or @FILE
    #[arg(long, value_name = "JSON")]
    pub(crate) slow: Option<String>,
    /// The command that starts the worker
    #[arg(value_name = "COMMAND", required = true, last = true)]
    pub(crate) command: Vec<String>,
}

const HELP: &str = "\
Starts a nats-server of its own and the worker, plays the supervisor, and kills the worker on the way. \
The worker finds the server in CALLBOARD__NATS__URL and the prefix in CALLBOARD__NATS__PREFIX. Its output goes \
to standard error. Without --slow, cancellation, heartbeats and concurrency are not checked. Exit code 1 if a \
check fails. docs/tools.md describes the protocol.

Examples:
  callboard worker check --pool python --tool word_count --args '{\"text\": \"to be\"}' -- python3 worker.py
  callboard worker check --pool mine --tool wait --args '{\"s\": 0}' --slow '{\"s\": 30}' -- ./worker";
