//! Arguments of `fsck` and of `jobs dead`.

use clap::{Args, Subcommand};
use proto::id::JobId;

/// `fsck`.
#[derive(Debug, Clone, Args)]
#[command(after_help = FSCK_HELP)]
pub(crate) struct FsckArgs {
    /// Only these jobs; full ids
    #[arg(value_name = "JOB")]
    pub(crate) jobs: Vec<JobId>,
    /// Only jobs of these shards; comma-separated or repeated
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(crate) shard: Vec<u16>,
}

const FSCK_HELP: &str = "\
Reads the logs directly, which needs the rights of the operator if the broker has users. \
Writes nothing. Checks a job that seems inconsistent again, until the result is stable.

Exit codes: 0 every job is consistent, 1 a job is inconsistent or a shard is lost, 2 the check could not run, \
6 a named job does not exist.";

/// `jobs dead`.
#[derive(Debug, Subcommand)]
pub(crate) enum DeadCommand {
    /// List dead letters: unreadable jobs and work without a remaining attempt, with record and reason
    #[command(visible_alias = "list")]
    Ls(DeadListArgs),
    /// Retry jobs: work without a remaining attempt, work that waits for a retry, and unreadable logs
    /// from their first record
    Retry(RetryArgs),
}

/// `jobs dead ls`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DeadListArgs {
    /// Only dead letters of this job
    #[arg(long, value_name = "JOB")]
    pub(crate) job: Option<JobId>,
    /// Maximum number
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub(crate) limit: u32,
}

/// `jobs dead retry`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RetryArgs {
    /// Jobs: ids or unique prefixes
    #[arg(value_name = "JOB", required = true)]
    pub(crate) jobs: Vec<String>,
    /// Reason, for the log
    #[arg(long, value_name = "WORDS")]
    pub(crate) reason: Option<String>,
}
