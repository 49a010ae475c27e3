//! Arguments of `fsck` and of `jobs dead`.

use clap::{Args, Subcommand};
use proto::id::JobId;

/// `fsck`.
#[derive(Debug, Clone, Args)]
#[command(after_help = FSCK_HELP)]
pub(crate) struct FsckArgs {
    /// Only these jobs, by their whole ids
    #[arg(value_name = "JOB")]
    pub(crate) jobs: Vec<JobId>,
    /// Only jobs of this shard; may be given more than once, or with commas
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(crate) shard: Vec<u16>,
}

const FSCK_HELP: &str = "\
Reads the logs themselves, so it needs the rights to: those of the operator, where there are users. \
It writes nothing. What looks wrong is looked at again, until it stays so.

Exit codes: 0 every job is where it should be, 1 something is wrong with one, 2 the check could not run, \
6 there is no job of that id.";

/// `jobs dead`.
#[derive(Debug, Subcommand)]
pub(crate) enum DeadCommand {
    /// List dead letters: unreadable jobs and work that was given up, with the record and the reason
    #[command(visible_alias = "list")]
    Ls(DeadListArgs),
    /// Have jobs tried again: once more what was given up, now what waits for the clock, and from
    /// its first record what could not be read
    Retry(RetryArgs),
}

/// `jobs dead ls`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DeadListArgs {
    /// Only of this job
    #[arg(long, value_name = "JOB")]
    pub(crate) job: Option<JobId>,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub(crate) limit: u32,
}

/// `jobs dead retry`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RetryArgs {
    /// The jobs: an id, or the beginning of one when no other begins so
    #[arg(value_name = "JOB", required = true)]
    pub(crate) jobs: Vec<String>,
    /// Why, for the record
    #[arg(long, value_name = "WORDS")]
    pub(crate) reason: Option<String>,
}
