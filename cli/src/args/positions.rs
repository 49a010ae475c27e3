//! Arguments of `jobs snapshot`, `rollback`, `restart`, `fork` and `diff`.

use clap::Args;
use proto::{
    id::{JobId, SnapshotName, StepId},
    point::Point,
};

/// `jobs snapshot`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SnapshotArgs {
    /// Job: its id or a unique prefix
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// Name of the position; replaces an earlier one of this name. Without it, the names are listed
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<SnapshotName>,
    /// Earlier record to name, or another snapshot [default: the last record]
    #[arg(long, value_name = "SEQ|NAME", requires = "name")]
    pub(crate) at: Option<Point>,
    /// Reason, for the log
    #[arg(long, value_name = "WORDS", requires = "name")]
    pub(crate) reason: Option<String>,
}

/// `jobs rollback`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RollBackArgs {
    /// Job: its id or a unique prefix
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// Last record to keep, by its number in `jobs show`, or the name of a snapshot
    #[arg(long, value_name = "SEQ|NAME")]
    pub(crate) to: Point,
    /// Allow tools that must not run twice to run again
    #[arg(long)]
    pub(crate) again: bool,
    /// Send only if this record is still the last one of the job, by its number in `jobs show`
    #[arg(long, value_name = "SEQ")]
    pub(crate) expect: Option<u64>,
    /// Say what the command would do, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Reason, for the log
    #[arg(long, value_name = "WORDS")]
    pub(crate) reason: Option<String>,
}

/// `jobs restart`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RestartArgs {
    /// Job: its id or a unique prefix
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// Step to restart; everything since its first command is rolled back
    #[arg(value_name = "STEP")]
    pub(crate) step: StepId,
    /// Allow tools that must not run twice to run again
    #[arg(long)]
    pub(crate) again: bool,
    /// Send only if this record is still the last one of the job, by its number in `jobs show`
    #[arg(long, value_name = "SEQ")]
    pub(crate) expect: Option<u64>,
    /// Say what the command would do, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Reason, for the log
    #[arg(long, value_name = "WORDS")]
    pub(crate) reason: Option<String>,
}

/// `jobs fork`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ForkArgs {
    /// Job: its id or a unique prefix
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// Last record to keep, or the name of a snapshot [default: the last record]
    #[arg(long, value_name = "SEQ|NAME")]
    pub(crate) at: Option<Point>,
    /// Id of the new job; a repeated command with the same id finds it
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<JobId>,
    /// Allow tools that must not run twice to run again
    #[arg(long)]
    pub(crate) again: bool,
    /// Say what the command would do, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `jobs diff`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DiffArgs {
    /// Job: its id or a unique prefix
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// First position: a record, or the name of a snapshot
    #[arg(value_name = "A", required_unless_present = "with")]
    pub(crate) a: Option<Point>,
    /// Second position [default: the current one]
    #[arg(value_name = "B")]
    pub(crate) b: Option<Point>,
    /// Another job, such as a fork; B is then a position of that job
    #[arg(long, value_name = "JOB")]
    pub(crate) with: Option<String>,
}
