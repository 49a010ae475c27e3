//! Arguments of `jobs purge`.

use clap::Args;
use jiff::{SignedDuration, Span, SpanRelativeTo};
use proto::id::JobId;

/// `jobs purge`.
#[derive(Debug, Clone, Args)]
#[command(after_help = PURGE_HELP)]
pub(crate) struct PurgeArgs {
    /// Only these jobs, by their whole ids
    #[arg(value_name = "JOB")]
    pub(crate) jobs: Vec<JobId>,
    /// Only jobs whose last record is older: 12h, 30d, 0s [default: 30d; 0s when jobs are named]
    #[arg(long, value_name = "TIME", value_parser = ended_before)]
    pub(crate) ended_before: Option<SignedDuration>,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Leave large values alone
    #[arg(long)]
    pub(crate) no_objects: bool,
}

const PURGE_HELP: &str = "\
Removes the logs of jobs that have ended, what shared buckets say of them, and then the large values \
that no record refers to any more and that are older than a day. There is no way back; the ids of the \
jobs are free again. Jobs that have not ended are never removed, nor jobs that work for one that has \
not, or have one that works for them: a job that is named and must stay makes the command remove nothing.

Needs the rights of the operator, where there are users. Runs beside everything else, and can be \
interrupted and run again. It removes 100,000 jobs at a time at most.

Exit codes: 0 done, 2 the command or the configuration cannot be used, or nobody confirmed, \
5 NATS cannot be reached, 6 a job that was named, or one of its family, has not ended, or not long \
enough ago.

Examples:
  callboard jobs purge --dry-run
  callboard jobs purge --ended-before 90d --yes";

fn ended_before(text: &str) -> Result<SignedDuration, String> {
    age(text, "write a time with its unit: 12h, 30d, 0s")
}

/// Reads `30d`, `12h`, `0s`; a day has 24 hours. `how` explains the format in the error.
pub(super) fn age(text: &str, how: &str) -> Result<SignedDuration, String> {
    let wrong = || how.to_owned();
    let span: Span = text.trim().parse().map_err(|_| wrong())?;
    let age = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
    if age.is_negative() { Err("must not be negative".to_owned()) } else { Ok(age) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_a_unit_and_may_be_days() {
        for (text, hours) in [("30d", 720), ("1w", 168), ("12h", 12), ("1d 6h", 30), ("0s", 0)] {
            assert_eq!(ended_before(text), Ok(SignedDuration::from_hours(hours)), "{text}");
        }
        for bad in ["30", "-1d", "soon", "", "1 month"] {
            assert!(ended_before(bad).is_err(), "{bad}");
        }
    }
}
