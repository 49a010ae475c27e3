//! Arguments of `workflow`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `workflow`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// Check workflow files without a server
    Check(CheckWorkflowArgs),
    /// Print the outline of a workflow file
    Show(WorkflowFile),
    /// Print a workflow file as a graph
    Graph(GraphArgs),
}

/// `workflow check`.
#[derive(Debug, Clone, Args)]
#[command(after_help = CHECK_HELP)]
pub(crate) struct CheckWorkflowArgs {
    /// Workflow files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

const CHECK_HELP: &str = "\
Files may name each other and built-in workflows. Names of tools are compared with the registered \
ones if a server can be reached. Exit code 0 if all files are valid, 2 otherwise.

Examples:
  callboard workflow check examples/workflows/ticket.yaml
  callboard -o json workflow check examples/workflows/*.yaml";

/// A workflow file.
#[derive(Debug, Clone, Args)]
pub(crate) struct WorkflowFile {
    /// Workflow file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// `workflow graph`.
#[derive(Debug, Clone, Args)]
pub(crate) struct GraphArgs {
    /// Workflow file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Language of the graph
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = GraphFormat::Dot)]
    pub(crate) format: GraphFormat,
}

/// The languages of graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum GraphFormat {
    /// Graphviz
    Dot,
    /// Mermaid, for Markdown
    Mermaid,
    /// An image
    Svg,
}
