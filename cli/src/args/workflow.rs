//! Arguments of `workflow`.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};
use proto::{id::JobId, label::Label, point::Point, workflow::WorkflowName};

use super::{filter::FilterArgs, start::Waiting};

/// `workflow`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// Check workflow files without a server
    Check(CheckWorkflowArgs),
    /// Print the outline of a workflow file, or the file of a workflow that the server knows
    Show(ShowWorkflowArgs),
    /// List all workflows: built-in and of the bucket
    #[command(visible_alias = "list")]
    Ls,
    /// Store a workflow in the bucket, for later jobs
    Set(SetWorkflowArgs),
    /// List the versions of a stored workflow
    Versions {
        /// Name of the workflow
        #[arg(value_name = "WORKFLOW")]
        name: WorkflowName,
    },
    /// Compare two versions of a stored workflow
    Diff(DiffWorkflowArgs),
    /// Put a version of a stored workflow in force again
    Rollback(RollBackWorkflowArgs),
    /// Remove a workflow and its versions from the bucket; the built-in one is used again
    Drop(DropWorkflowArgs),
    /// Run a workflow as a job, and watch it to its end
    Run(Box<RunWorkflowArgs>),
    /// Print a workflow, or the workflow of a job with its states, as a graph
    Graph(GraphArgs),
    /// Run the cases of a workflow file without a server
    Simulate(SimulateArgs),
    /// Sum up the jobs that run workflows: states, and failures and durations of nodes
    Stats(WorkflowStatsArgs),
    /// Convert a graph of LangGraph or Dify to a workflow file
    Import(ImportArgs),
    /// Change the graph of a running job by edits
    #[command(after_help = EDIT_HELP)]
    Edit(ChangeArgs),
    /// Move a running job to another version of its workflow
    #[command(after_help = MIGRATE_HELP)]
    Migrate(MigrateArgs),
}

const EDIT_HELP: &str = "\
The file has a list `edits`: add_node, update_node, remove_node, update_edge and set_limits. What runs \
goes on; its way on and what begins later follow the new graph. The edits are refused if a path \
would lose its node, or if the graph has another revision than `base`.

Examples:
  callboard workflow edit report-7 examples/workflows/improve-edits.yaml --dry-run";

const MIGRATE_HELP: &str = "\
The other version is a file with a workflow of the same name, or a version that the bucket has. The \
keys of the state stay, and paths keep their places.

Examples:
  callboard workflow migrate report-7 --to 4 --dry-run
  callboard workflow migrate report-7 examples/workflows/improve.yaml";

/// `workflow edit`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ChangeArgs {
    /// Job: its id or a unique prefix
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// File with the edits
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) how: ChangeOptions,
}

/// `workflow migrate`.
#[derive(Debug, Clone, Args)]
pub(crate) struct MigrateArgs {
    /// Job: its id or a unique prefix
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// File with the other version
    #[arg(value_name = "FILE", required_unless_present = "to", conflicts_with = "to")]
    pub(crate) file: Option<PathBuf>,
    /// Stored version of the job's workflow
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: Option<u32>,
    #[command(flatten)]
    pub(crate) how: ChangeOptions,
}

/// Options of `workflow edit` and `workflow migrate`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ChangeOptions {
    /// Revision of the graph that you saw; the present one when absent
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
Files may name each other and built-in workflows. Names of tools and workflows are compared with those \
of the server if one can be reached. Exit code 0 if all files are valid, 2 otherwise.

Examples:
  callboard workflow check examples/workflows/ticket.yaml
  callboard -o json workflow check examples/workflows/*.yaml";

/// `workflow show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ShowWorkflowArgs {
    /// Workflow file, or the name of a workflow that the server knows
    #[arg(value_name = "FILE|NAME")]
    pub(crate) file: PathBuf,
    /// Stored version of the workflow [default: the one in force]
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<u32>,
}

/// `workflow diff`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DiffWorkflowArgs {
    /// Name of the workflow
    #[arg(value_name = "WORKFLOW")]
    pub(crate) name: WorkflowName,
    /// First version [default: the highest below the second]
    #[arg(value_name = "FROM")]
    pub(crate) from: Option<u32>,
    /// Second version [default: the one in force]
    #[arg(value_name = "TO")]
    pub(crate) to: Option<u32>,
}

/// `workflow rollback`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RollBackWorkflowArgs {
    /// Name of the workflow
    #[arg(value_name = "WORKFLOW")]
    pub(crate) name: WorkflowName,
    /// Version to put in force
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: u32,
}

/// `workflow set`.
#[derive(Debug, Clone, Args)]
#[command(after_help = SET_HELP)]
pub(crate) struct SetWorkflowArgs {
    /// Workflow file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Check the workflow on the server; store nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Store only if this revision is still in force; 0 if the bucket must not have the workflow
    #[arg(long, value_name = "REVISION")]
    pub(crate) expect: Option<u64>,
}

const SET_HELP: &str = "\
The name is that in the file. A workflow with mistakes is not stored, nor one whose `version` has \
another definition already. Running jobs keep the definitions of their submissions.

Examples:
  callboard workflow set examples/workflows/ticket.yaml
  callboard workflow run ticket --input '{\"ticket\":\"the app crashes\"}'";

/// `workflow drop`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DropWorkflowArgs {
    /// Name of the workflow
    #[arg(value_name = "WORKFLOW")]
    pub(crate) name: WorkflowName,
    /// Remove only if this revision is still in force
    #[arg(long, value_name = "REVISION")]
    pub(crate) expect: Option<u64>,
}

/// `workflow run`.
#[derive(Debug, Clone, Args)]
#[command(after_help = RUN_HELP)]
pub(crate) struct RunWorkflowArgs {
    /// Name of a workflow that the server knows, or a workflow file
    #[arg(value_name = "NAME|FILE")]
    pub(crate) workflow: PathBuf,
    /// Input of the workflow, a JSON object; @FILE reads a file
    #[arg(long, value_name = "JSON|@FILE")]
    pub(crate) input: Option<String>,
    /// Goal of the job [default: the name of the workflow]
    #[arg(long, value_name = "GOAL")]
    pub(crate) goal: Option<String>,
    /// Id and idempotency key of the job [default: a random id]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<JobId>,
    /// Agent whose policies hold: a name that the server knows, or @FILE
    #[arg(long, value_name = "AGENT|@FILE")]
    pub(crate) agent: Option<String>,
    /// Label of the job; repeatable
    #[arg(long = "label", value_name = "KEY=VALUE")]
    pub(crate) labels: Vec<Label>,
    /// Fail the job if it does not end within this time: 5m, 2h
    #[arg(long, value_name = "TIME", value_parser = super::duration)]
    pub(crate) deadline: Option<Duration>,
    #[command(flatten)]
    pub(crate) waiting: Waiting,
}

const RUN_HELP: &str = "\
`callboard run GOAL --workflow NAME|FILE` and `callboard submit` have further options of a job.

Examples:
  callboard workflow run ticket --input '{\"ticket\":\"the app crashes\"}'
  callboard workflow run ./ticket.yaml --input @input.json --id ticket-7";

/// `workflow stats`.
#[derive(Debug, Clone, Args)]
#[command(after_help = STATS_HELP)]
pub(crate) struct WorkflowStatsArgs {
    /// Workflow [default: all]
    #[arg(value_name = "WORKFLOW")]
    pub(crate) name: Option<WorkflowName>,
    /// Maximum number of jobs to read, the newest ones
    #[arg(long, value_name = "NUMBER", default_value_t = 200, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

const STATS_HELP: &str = "\
The statistics are those of the jobs that the server still has. P50 and P95 are durations from the entry \
of a visit to its end, waits for people included.

Examples:
  callboard workflow stats
  callboard workflow stats ticket --since 7d --limit 1000
  callboard -o json workflow stats ticket";

/// `workflow graph`.
#[derive(Debug, Clone, Args)]
#[command(after_help = GRAPH_HELP)]
pub(crate) struct GraphArgs {
    /// Workflow file, or the name of a workflow that the server knows
    #[arg(value_name = "FILE|NAME", required_unless_present = "job", conflicts_with = "job")]
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
