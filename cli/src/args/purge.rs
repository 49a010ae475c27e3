//! Arguments of `jobs purge`.

use clap::Args;
use jiff::{SignedDuration, Span, SpanRelativeTo};
use proto::id::JobId;

/// `jobs purge`.
#[derive(Debug, Clone, Args)]
#[command(after_help = PURGE_HELP)]
pub(crate) struct PurgeArgs {
    /// Only these jobs; full ids
    #[arg(value_name = "JOB")]
    pub(crate) jobs: Vec<JobId>,
    /// Only jobs whose last record is older: 12h, 30d, 0s [default: 30d; 0s for named jobs]
    #[arg(long, value_name = "TIME", value_parser = ended_before)]
    pub(crate) ended_before: Option<SignedDuration>,
    /// Print what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Keep large values
    #[arg(long)]
    pub(crate) no_objects: bool,
}

const PURGE_HELP: &str = "\
Removes the logs of ended jobs and their entries in shared buckets, and then the large values that are \
older than a day and that no record refers to. This cannot be undone; the ids of the jobs are free again. \
Jobs that have not ended are never removed, nor their ancestors and descendants: if a named job must \
stay, the command removes nothing.

Needs the rights of the operator if the broker has users. May run at any time, and can be \
interrupted and repeated. Removes at most 100,000 jobs at a time.

Exit codes: 0 done, 2 the command or the configuration is invalid, or not confirmed, \
5 NATS cannot be reached, 6 a named job, or a related one, has not ended, or ended too recently.

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
