//! Arguments of `jobs snapshot`, `rollback`, `restart`, `fork` and `diff`.

use clap::Args;
use proto::{
    id::{JobId, SnapshotName, StepId},
    point::Point,
};

/// `jobs snapshot`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SnapshotArgs {
    /// The job: its id, or the beginning of it when no other begins so
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// What to call this point; a later one of the same name takes its place. Without it, the names
    /// that there are are listed
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<SnapshotName>,
}

/// `jobs rollback`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RollBackArgs {
    /// The job: its id, or the beginning of it when no other begins so
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// The last record that stays, as `jobs show` numbers them, or the name of a snapshot
    #[arg(long, value_name = "SEQ|NAME")]
    pub(crate) to: Point,
    /// Have tools that must not run twice run again
    #[arg(long)]
    pub(crate) again: bool,
    /// Why, for the record
    #[arg(long, value_name = "WORDS")]
    pub(crate) reason: Option<String>,
}

/// `jobs restart`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RestartArgs {
    /// The job: its id, or the beginning of it when no other begins so
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// The step to begin again with: what came after its first command is rolled back
    #[arg(value_name = "STEP")]
    pub(crate) step: StepId,
    /// Have tools that must not run twice run again
    #[arg(long)]
    pub(crate) again: bool,
    /// Why, for the record
    #[arg(long, value_name = "WORDS")]
    pub(crate) reason: Option<String>,
}

/// `jobs fork`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ForkArgs {
    /// The job: its id, or the beginning of it when no other begins so
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// The last record to take along, or the name of a snapshot; all when absent
    #[arg(long, value_name = "SEQ|NAME")]
    pub(crate) at: Option<Point>,
    /// The id of the new job, by which the same command again finds it
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<JobId>,
    /// Have tools that must not run twice run again
    #[arg(long)]
    pub(crate) again: bool,
}

/// `jobs diff`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DiffArgs {
    /// The job: its id, or the beginning of it when no other begins so
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// One point: a record, or the name of a snapshot
    #[arg(value_name = "A", required_unless_present = "with")]
    pub(crate) a: Option<Point>,
    /// The other point; the job as it is now when absent
    #[arg(value_name = "B")]
    pub(crate) b: Option<Point>,
    /// Another job, a fork for one: then B is a point of that
    #[arg(long, value_name = "JOB")]
    pub(crate) with: Option<String>,
}
