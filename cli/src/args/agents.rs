//! Arguments of `agents`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use proto::id::AgentName;

/// `agents`.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List them: those that come with the program, of the configuration, of files and of the bucket
    #[command(visible_alias = "list")]
    Ls,
    /// Print one: its file and its effective values
    Show {
        /// The agent
        #[arg(value_name = "NAME")]
        name: AgentName,
    },
    /// Say what is wrong with files, without a server
    Check(CheckAgentsArgs),
    /// Put a file into the bucket: from now on jobs that name it get it
    Put(PutAgentArgs),
    /// Take one out of the bucket; what it hid is there again
    #[command(visible_alias = "remove")]
    Rm {
        /// The agent
        #[arg(value_name = "NAME")]
        name: AgentName,
    },
}

/// `agents check`.
#[derive(Debug, Clone, Args)]
#[command(after_help = CHECK_HELP)]
pub(crate) struct CheckAgentsArgs {
    /// The files; without any, those of door.agents_dir
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

const CHECK_HELP: &str = "\
Files may extend each other, those of door.agents_dir and the agents that come with the program. \
Exit code 0 when all can be used, 2 when one cannot.

Examples:
  callboard agents check agents/careful.yaml
  callboard agents show fastgpt > agents/mine.yaml";

/// `agents put`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PutAgentArgs {
    /// The file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Its name [default: that of the file]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<AgentName>,
}
