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
}
