//! The arguments of `jobs`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use proto::{file::FileName, workflow::EventName};

use super::{
    filter::FilterArgs,
    fsck::DeadCommand,
    positions::{DiffArgs, ForkArgs, RestartArgs, RollBackArgs, SnapshotArgs},
    purge::PurgeArgs,
    select::{RetryJobsArgs, SignalArgs},
};

/// `jobs`.
#[derive(Debug, Subcommand)]
pub(crate) enum JobsCommand {
    /// List jobs, newest first
    #[command(visible_alias = "list")]
    Ls(ListArgs),
    /// Count jobs: open, completed, failed, canceled
    Count(FilterArgs),
    /// Show everything about a job: state and reason, plan, questions, result
    #[command(visible_alias = "get")]
    Describe(DescribeArgs),
    /// Print a job's plan and the state of its steps, as a tree or as a graph for Graphviz
    Plan(PlanArgs),
    /// Print a job's log, one line per record
    #[command(visible_alias = "log")]
    Show(ShowArgs),
    /// Draw when a job's steps, model turns and calls began and ended, and when they waited
    #[command(visible_alias = "waterfall")]
    Spans(SpansArgs),
    /// List the files of a job, or fetch one of them
    Files(FilesArgs),
    /// Cancel jobs: no new work starts, and completed work is not undone
    Cancel(SignalArgs),
    /// Pause jobs: no new work starts, and running work may finish
    Pause(SignalArgs),
    /// Resume paused jobs
    Resume(SignalArgs),
    /// Send an instruction to a running job: the next plan or model turn includes it
    Steer(SteerArgs),
    /// Report an event to a workflow, whose node of type `event` waits for it
    Event(EventArgs),
    /// Name a position of the job, or list the named positions
    Snapshot(SnapshotArgs),
    /// Roll a job back to a record of its log or to a snapshot
    Rollback(RollBackArgs),
    /// Roll a job back to the record before a step began
    Restart(RestartArgs),
    /// Retry failed jobs from just before their failure, or end the backoff of running ones
    Retry(RetryJobsArgs),
    /// Submit a new job that continues from a position of this one
    Fork(ForkArgs),
    /// Compare two positions of a job, or two jobs
    Diff(DiffArgs),
    /// Show and retry dead letters: jobs and work that wait for an operator
    #[command(subcommand)]
    Dead(DeadCommand),
    /// Remove jobs that ended long ago, and large values without a reference
    Purge(PurgeArgs),
}

/// `jobs describe`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DescribeArgs {
    /// Job: its id or a unique prefix
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// Show every plan as a change of the previous one
    #[arg(long)]
    pub(crate) revisions: bool,
}

/// `jobs plan`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PlanArgs {
    /// Job: its id or a unique prefix
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// Format: a tree, or DOT for Graphviz
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    pub(crate) format: PlanForm,
}

/// The format of a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PlanForm {
    /// A tree.
    #[default]
    Tree,
    /// A graph for Graphviz.
    Dot,
}

/// `jobs spans`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SpansArgs {
    /// Job: its id or a unique prefix
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
}

/// `jobs files`.
#[derive(Debug, Clone, Args)]
pub(crate) struct FilesArgs {
    /// Job: its id or a unique prefix
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// File of the submission to fetch
    #[arg(value_name = "NAME", value_parser = file_name)]
    pub(crate) name: Option<FileName>,
    /// Where to write the file; `-` for standard output [default: NAME in the current directory]
    #[arg(long, value_name = "PATH", requires = "name")]
    pub(crate) save_as: Option<PathBuf>,
}

/// `jobs steer`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SteerArgs {
    /// Job: its id or a unique prefix
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// The instruction; or @FILE, @-
    #[arg(value_name = "WORDS")]
    pub(crate) words: String,
    /// Reason, for the log; the agents do not read it
    #[arg(long, value_name = "WORDS")]
    pub(crate) reason: Option<String>,
}

/// `jobs event`.
#[derive(Debug, Clone, Args)]
pub(crate) struct EventArgs {
    /// Job: its id or a unique prefix
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// Name of the event
    #[arg(value_name = "NAME", value_parser = event_name)]
    pub(crate) name: EventName,
    /// Content of the event; or @FILE, @- [default: null]
    #[arg(long, value_name = "JSON")]
    pub(crate) data: Option<String>,
    /// Reason, for the log
    #[arg(long, value_name = "WORDS")]
    pub(crate) reason: Option<String>,
}

/// `jobs ls`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Show child jobs below their parents
    #[arg(long)]
    pub(crate) tree: bool,
    /// Maximum number
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub(crate) limit: u32,
    /// Only jobs that were submitted before this one, to continue a list
    #[arg(long, value_name = "JOB")]
    pub(crate) after: Option<String>,
}

/// `jobs show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ShowArgs {
    /// Job: its id or a unique prefix
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// Print new records until the job ends
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Only records after this position
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub(crate) after: u64,
    /// Print the reasoning of models below their replies
    #[arg(long)]
    pub(crate) reasoning: bool,
}

fn event_name(text: &str) -> Result<EventName, String> {
    EventName::new(text).map_err(|invalid| invalid.to_string())
}

fn file_name(text: &str) -> Result<FileName, String> {
    FileName::new(text).map_err(|invalid| invalid.to_string())
}
