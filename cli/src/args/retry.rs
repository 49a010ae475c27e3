//! Arguments of `jobs retry`.

use clap::{ArgGroup, Args};
use jiff::SignedDuration;
use proto::{
    id::{AgentName, ConversationId},
    job::FailReason,
};
use serde::{Deserialize, de::value::StrDeserializer};

use super::purge::age;

/// `jobs retry`.
#[derive(Debug, Clone, Args)]
#[command(after_help = RETRY_HELP, group = selection())]
pub(crate) struct RetryJobsArgs {
    /// The jobs: an id, or a unique prefix of one; without any, all failed jobs that match
    #[arg(value_name = "JOB")]
    pub(crate) jobs: Vec<String>,
    /// All failed jobs
    #[arg(long, conflicts_with = "jobs")]
    pub(crate) all: bool,
    /// Failed jobs of this agent
    #[arg(long, value_name = "AGENT", conflicts_with = "jobs")]
    pub(crate) agent: Option<AgentName>,
    /// Jobs that failed for this reason: plan_failed, step_failed, …
    #[arg(long, value_name = "REASON", value_parser = failure, conflicts_with = "jobs")]
    pub(crate) failure: Option<FailReason>,
    /// Jobs that failed within this time: 30m, 12h, 2d
    #[arg(long, value_name = "TIME", value_parser = since, conflicts_with = "jobs")]
    pub(crate) since: Option<SignedDuration>,
    /// Failed jobs of this conversation
    #[arg(long, value_name = "ID", conflicts_with = "jobs")]
    pub(crate) conversation: Option<ConversationId>,
    /// Retry even if tools that must not run twice would run again
    #[arg(long)]
    pub(crate) again: bool,
    /// Reason, for the record
    #[arg(long, value_name = "WORDS")]
    pub(crate) reason: Option<String>,
}

const RETRY_HELP: &str = "\
A failed job is rolled back to the last record before its failure and continues from there: work that \
had completed by then stays, failed and later work runs again. A job that is running ends its backoff \
at once, and work that was given up gets one more attempt. Without JOB, the command counts the failed \
jobs that match every filter, and asks before it retries them. Child jobs are left out: their parents \
run them again. So are jobs that would fail again at once, because their time, budget or log is used \
up or a guard stopped them.

Exit codes: 0 done, 2 nobody confirmed, 5 NATS cannot be reached, 6 a job does not exist, or cannot be \
retried; the others were.

Examples:
  callboard jobs retry 01a2
  callboard jobs retry --failure step_failed --since 2h
  callboard jobs retry --all --yes";

/// The jobs must be named or selected; `--all` exists so that nobody retries all by accident.
fn selection() -> ArgGroup {
    let ways = ["jobs", "all", "agent", "failure", "since", "conversation"];
    ArgGroup::new("selection").args(ways).required(true).multiple(true)
}

fn failure(text: &str) -> Result<FailReason, String> {
    let word = StrDeserializer::<serde::de::value::Error>::new(text);
    FailReason::deserialize(word).map_err(|error| error.to_string())
}

fn since(text: &str) -> Result<SignedDuration, String> {
    age(text, "write a time with its unit: 30m, 12h, 2d")
}
