//! Arguments of `workflow`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use proto::point::Point;

/// `workflow`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// Check workflow files without a server
    Check(CheckWorkflowArgs),
    /// Print the outline of a workflow file
    Show(WorkflowFile),
    /// Print a workflow file, or the workflow of a job with its states, as a graph
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
#[command(after_help = GRAPH_HELP)]
pub(crate) struct GraphArgs {
    /// Workflow file
    #[arg(value_name = "FILE", required_unless_present = "job", conflicts_with = "job")]
    pub(crate) file: Option<PathBuf>,
    /// Job whose workflow is drawn, with the states and visits of its nodes
    #[arg(long, value_name = "JOB")]
    pub(crate) job: Option<String>,
    /// Record or snapshot of the job's log at which to draw it
    #[arg(long, value_name = "POINT", requires = "job")]
    pub(crate) at: Option<Point>,
    /// Language of the graph
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = GraphFormat::Dot)]
    pub(crate) format: GraphFormat,
}

const GRAPH_HELP: &str = "\
With a job, each node has its state as a sign and a colour, its visits and its cost. Lines that paths \
took are thick, with their number if they were taken more than once.

Examples:
  callboard workflow graph examples/workflows/ticket.yaml --format mermaid
  callboard workflow graph --job report-7 --format svg > report-7.svg";

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
