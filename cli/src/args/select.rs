//! Arguments of the commands that send a signal to jobs: `jobs cancel`, `pause`, `resume`, `retry`.

use clap::{ArgGroup, Args};

use super::filter::{CONDITIONS, FilterArgs};

/// Jobs by name, or all that meet conditions.
#[derive(Debug, Clone, Args)]
#[command(groups = selection())]
pub(crate) struct SelectArgs {
    /// The jobs: an id, or a unique prefix of one; without any, all jobs that match
    #[arg(value_name = "JOB")]
    pub(crate) jobs: Vec<String>,
    /// All jobs that the command applies to
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Reason, for the log
    #[arg(long, value_name = "WORDS")]
    pub(crate) reason: Option<String>,
    /// Say what the command would do, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// The jobs must be named or selected; `--all` exists so that nobody selects all by accident.
fn selection() -> [ArgGroup; 2] {
    let conditions = || CONDITIONS.into_iter().chain(["all"]);
    [
        ArgGroup::new("conditions").args(conditions()).multiple(true).conflicts_with("jobs"),
        ArgGroup::new("selection").args(conditions().chain(["jobs"])).required(true).multiple(true),
    ]
}

/// `jobs cancel`, `pause`, `resume`.
#[derive(Debug, Clone, Args)]
#[command(after_help = SIGNAL_HELP)]
pub(crate) struct SignalArgs {
    #[command(flatten)]
    pub(crate) select: SelectArgs,
    /// Send only if this record is still the last one of the job, by its number in `jobs show`
    #[arg(long, value_name = "SEQ", conflicts_with = "conditions")]
    pub(crate) expect: Option<u64>,
}

const SIGNAL_HELP: &str = "\
Without JOB, the command counts the jobs that match and that it applies to, and asks before it sends the \
signal to them: at most 500. Child jobs are left out, because their parents pass the signal on.

Exit codes: 0 done, 2 nobody confirmed, 5 NATS cannot be reached, 6 a job does not exist or refused the \
signal; the others received it.";

/// `jobs retry`.
#[derive(Debug, Clone, Args)]
#[command(after_help = RETRY_HELP)]
pub(crate) struct RetryJobsArgs {
    #[command(flatten)]
    pub(crate) select: SelectArgs,
    /// Retry even if tools that must not run twice would run again
    #[arg(long)]
    pub(crate) again: bool,
}

const RETRY_HELP: &str = "\
A failed job is rolled back to the last record before its failure and continues from there: work that \
had completed by then stays, failed and later work runs again. A job that is running ends its backoff \
at once, and work that was given up gets one more attempt. Without JOB, the command counts the failed \
jobs that match every filter, and asks before it retries them: at most 500. Child jobs are left out: \
their parents run them again. So are jobs that would fail again at once, because their time, budget or \
log is used up or a guard stopped them.

Exit codes: 0 done, 2 nobody confirmed, 5 NATS cannot be reached, 6 a job does not exist, or cannot be \
retried; the others were.

Examples:
  callboard jobs retry 01a2
  callboard jobs retry --failure step_failed --updated-since 2h
  callboard jobs retry --all --yes";
