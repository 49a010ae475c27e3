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
    /// Run the cases of a workflow file without a server
    Simulate(SimulateArgs),
    /// Convert a graph of LangGraph or Dify to a workflow file
    Import(ImportArgs),
    /// Change the graph of a running job by edits
    #[command(after_help = EDIT_HELP)]
    Edit(ChangeArgs),
    /// Move a running job to another version of its workflow
    #[command(after_help = MIGRATE_HELP)]
    Migrate(ChangeArgs),
}

const EDIT_HELP: &str = "\
The file has a list `edits`: add_node, update_node, remove_node, update_edge and set_limits. What runs \
goes on; its way on and what begins later follow the new graph. The edits are refused if a path \
would lose its node, or if the graph has another number of edits than `base`.

Examples:
  callboard workflow edit report-7 examples/workflows/improve-edits.yaml --dry-run";

const MIGRATE_HELP: &str = "\
The file is a workflow of the same name. The keys of the state stay, and paths keep their places.

Examples:
  callboard workflow migrate report-7 examples/workflows/improve.yaml --dry-run";

/// `workflow edit` and `workflow migrate`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ChangeArgs {
    /// Job: its id or a unique prefix
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// File with the edits, or the workflow
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Number of edits that the graph has; the present number when absent
    #[arg(long, value_name = "N")]
    pub(crate) base: Option<u32>,
    /// Say what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Reason, for the log
    #[arg(long, value_name = "WORDS")]
    pub(crate) reason: Option<String>,
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

/// `workflow simulate`.
#[derive(Debug, Clone, Args)]
#[command(after_help = SIMULATE_HELP)]
pub(crate) struct SimulateArgs {
    /// Workflow file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// File with the cases: the model's script, the results of tools, and what is expected
    #[arg(long, value_name = "CASES")]
    pub(crate) cases: PathBuf,
    /// Run only the case of this name; may be repeated
    #[arg(long = "case", value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Print every record of each case
    #[arg(long)]
    pub(crate) trace: bool,
}

const SIMULATE_HELP: &str = "\
Each case runs the workflow in one process on a virtual clock, with a scripted model and scripted \
tools. Exit code 0 if all cases pass, 1 if one fails, 2 if a file cannot be used.

Examples:
  callboard workflow simulate examples/workflows/improve.yaml --cases \
examples/workflows/improve-cases.yaml";

/// `workflow import`.
#[derive(Debug, Clone, Args)]
#[command(after_help = IMPORT_HELP)]
pub(crate) struct ImportArgs {
    /// File to convert
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Program that wrote the file; found out from the file when absent
    #[arg(long, value_name = "PROGRAM", value_enum)]
    pub(crate) from: Option<ImportFrom>,
}

/// The programs whose graphs can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ImportFrom {
    /// JSON of `graph.get_graph().to_json()`
    Langgraph,
    /// A DSL file (YAML) of a workflow
    Dify,
}

const IMPORT_HELP: &str = "\
The workflow is printed, and notes about it go to the standard error. If a node has no counterpart, \
the command names each such node and writes nothing; the exit code is then 2.

Examples:
  callboard workflow import flow.yml > workflow.yaml
  callboard workflow import graph.json --from langgraph > workflow.yaml";
