//! Arguments of `agents`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use proto::id::AgentName;

/// `agents`.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List all agents: built-in, of the configuration, of files and of the bucket
    #[command(visible_alias = "list")]
    Ls,
    /// Print the file and the effective values of an agent
    Show {
        /// The agent
        #[arg(value_name = "AGENT")]
        name: AgentName,
    },
    /// Check agent files without a server
    Check(CheckAgentsArgs),
    /// Store an agent in the bucket, for later jobs
    Put(PutAgentArgs),
    /// List the revisions of an agent in the bucket: when it changed, and by whom
    #[command(visible_alias = "history")]
    Log {
        /// The agent
        #[arg(value_name = "AGENT")]
        name: AgentName,
    },
    /// Compare two revisions of an agent
    Diff(DiffAgentArgs),
    /// Store the text of an earlier revision again, as a new revision
    Rollback(RollBackAgentArgs),
    /// Remove an agent from the bucket; the agent that it replaced is used again
    #[command(visible_alias = "remove")]
    Rm {
        /// The agent
        #[arg(value_name = "AGENT")]
        name: AgentName,
    },
}

/// `agents check`.
#[derive(Debug, Clone, Args)]
#[command(after_help = CHECK_HELP)]
pub(crate) struct CheckAgentsArgs {
    /// Agent files [default: those of door.agents_dir]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

const CHECK_HELP: &str = "\
Files may extend each other, files of door.agents_dir and built-in agents. \
Exit code 0 if all files are valid, 2 otherwise.

Examples:
  callboard agents check agents/careful.yaml
  callboard agents show fastgpt > agents/mine.yaml";

/// `agents put`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PutAgentArgs {
    /// Agent file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Name of the agent [default: the name of the file]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<AgentName>,
    /// Check the agent and print the difference to the one in use; store nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Store only if this revision is still in force; 0 if the bucket must not have the agent
    #[arg(long, value_name = "REVISION")]
    pub(crate) expect: Option<u64>,
}

/// `agents diff`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DiffAgentArgs {
    /// The agent
    #[arg(value_name = "AGENT")]
    pub(crate) name: AgentName,
    /// First revision [default: the one before the second]
    #[arg(value_name = "FROM")]
    pub(crate) from: Option<u64>,
    /// Second revision [default: the newest]
    #[arg(value_name = "TO")]
    pub(crate) to: Option<u64>,
}

/// `agents rollback`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RollBackAgentArgs {
    /// The agent
    #[arg(value_name = "AGENT")]
    pub(crate) name: AgentName,
    /// Revision whose text to store again
    #[arg(long, value_name = "REVISION")]
    pub(crate) to: u64,
}
