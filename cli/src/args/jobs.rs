//! The arguments of `jobs`.

use clap::{Args, Subcommand};
use proto::{id::ConversationId, job::JobState};

use super::{
    fsck::DeadCommand,
    purge::PurgeArgs,
    turning::{DiffArgs, ForkArgs, RestartArgs, RollBackArgs, SnapshotArgs},
};

/// `jobs`.
#[derive(Debug, Subcommand)]
pub(crate) enum JobsCommand {
    /// List jobs, newest first
    #[command(visible_alias = "list")]
    Ls(ListArgs),
    /// Say everything about a job: state and why, plan, questions, result
    #[command(visible_alias = "get")]
    Describe(DescribeArgs),
    /// Print a job's plan and where its steps stand, as a tree or as a graph for Graphviz
    Plan(PlanArgs),
    /// Print a job's log, one line a record
    #[command(visible_alias = "log")]
    Show(ShowArgs),
    /// End a job; nothing new is started, what is done stays done
    Cancel(SignalArgs),
    /// Start nothing new until the job is resumed; what runs may end
    Pause(SignalArgs),
    /// Go on after a pause
    Resume(SignalArgs),
    /// Tell a running job something: the next plan or model turn hears it
    Steer(SteerArgs),
    /// Give the point where a job is now a name, or list the names there are
    Snapshot(SnapshotArgs),
    /// Take a job back to a record of its log or to a snapshot, and go on from there
    Rollback(RollBackArgs),
    /// Take a job back to right before a step began, and go on from there
    Restart(RestartArgs),
    /// Submit a new job that goes on from a point of this one
    Fork(ForkArgs),
    /// What differs between two points of a job, or between two jobs
    Diff(DiffArgs),
    /// Dead letters: jobs and work that wait for an operator
    #[command(subcommand)]
    Dead(DeadCommand),
    /// Remove jobs that ended long ago, for ever, and large values that nobody refers to any more
    Purge(PurgeArgs),
}

/// `jobs describe`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DescribeArgs {
    /// The job: its id, or the beginning of it when no other begins so
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// Show every plan there has been, as a change of the one before
    #[arg(long)]
    pub(crate) revisions: bool,
}

/// `jobs plan`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PlanArgs {
    /// The job: its id, or the beginning of it when no other begins so
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// As what: a tree for people, or DOT, which Graphviz draws
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    pub(crate) format: PlanForm,
}

/// What a plan is printed as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PlanForm {
    /// A tree.
    #[default]
    Tree,
    /// A graph for Graphviz.
    Dot,
}

/// `jobs steer`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SteerArgs {
    /// The job: its id, or the beginning of it when no other begins so
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// What should be done, or done otherwise; @file and @- read it from there
    #[arg(value_name = "WORDS")]
    pub(crate) words: String,
}

/// `jobs ls`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ListArgs {
    /// Only jobs in this state; may be given more than once, or with commas
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = state)]
    pub(crate) state: Vec<JobState>,
    /// Only jobs of this conversation
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<ConversationId>,
    /// Show jobs below the ones they work for
    #[arg(long)]
    pub(crate) tree: bool,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub(crate) limit: u32,
    /// Only jobs that were submitted before this one: goes on after the last that was shown
    #[arg(long, value_name = "JOB")]
    pub(crate) after: Option<String>,
}

/// `jobs show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ShowArgs {
    /// The job: its id, or the beginning of it when no other begins so
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// Go on with what follows, until the job has ended
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Only records after this position
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub(crate) after: u64,
}

/// `jobs cancel`, `pause`, `resume`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SignalArgs {
    /// The job: its id, or the beginning of it when no other begins so
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// Why, for the record
    #[arg(long, value_name = "WORDS")]
    pub(crate) reason: Option<String>,
}

fn state(text: &str) -> Result<JobState, String> {
    text.parse().map_err(|_| {
        let all: Vec<_> = JobState::ALL.iter().map(|state| state.as_str()).collect();
        format!("the states are {}", all.join(", "))
    })
}
