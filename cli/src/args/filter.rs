//! Arguments that select jobs by what they are.

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use proto::{
    door::SearchText,
    id::{AgentName, ConversationId},
    job::{FailReason, JobState},
    label::Label,
};
use serde::{Deserialize, de::value::StrDeserializer};

use super::purge::age;

/// The conditions that jobs meet.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FilterArgs {
    /// Only jobs in these states; comma-separated or repeated
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = state)]
    pub(crate) state: Vec<JobState>,
    /// Only jobs of this agent
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<AgentName>,
    /// Only jobs with this label; repeatable
    #[arg(long = "label", value_name = "KEY=VALUE")]
    pub(crate) labels: Vec<Label>,
    /// Only jobs whose goal, as the list shows it, has this text in any case
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<SearchText>,
    /// Only jobs of this conversation
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<ConversationId>,
    /// Only jobs of sub-agents of this job
    #[arg(long, value_name = "JOB")]
    pub(crate) parent: Option<String>,
    /// Only jobs submitted since then: 30m, 2d, 2026-03-01T09:00:00Z
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(crate) since: Option<Moment>,
    /// Only jobs submitted before then
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(crate) until: Option<Moment>,
    /// Only jobs whose last record was stored since then
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(crate) updated_since: Option<Moment>,
    /// Only jobs that failed for this reason: plan_failed, step_failed, …
    #[arg(long, value_name = "REASON", value_parser = failure)]
    pub(crate) failure: Option<FailReason>,
    /// Only jobs that need attention: a fault of the installation holds them
    #[arg(long)]
    pub(crate) attention: bool,
}

/// The ids of the arguments of [`FilterArgs`].
pub(super) const CONDITIONS: [&str; 11] = [
    "state",
    "agent",
    "labels",
    "text",
    "conversation",
    "parent",
    "since",
    "until",
    "updated_since",
    "failure",
    "attention",
];

/// A time: as it is, or relative to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// This long ago.
    Ago(SignedDuration),
    /// This instant.
    At(Timestamp),
}

impl Moment {
    /// Returns the instant.
    pub(crate) fn at(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Ago(age) => now.checked_sub(age).unwrap_or(Timestamp::MIN),
            Self::At(at) => at,
        }
    }
}

fn moment(text: &str) -> Result<Moment, String> {
    let how = "write how long ago, with its unit: 30m, 12h, 2d; or a time: 2026-03-01T09:00:00Z";
    match text.trim().parse() {
        Ok(at) => Ok(Moment::At(at)),
        Err(_) => age(text, how).map(Moment::Ago),
    }
}

fn state(text: &str) -> Result<JobState, String> {
    text.parse().map_err(|_| {
        let all: Vec<_> = JobState::ALL.iter().map(|state| state.as_str()).collect();
        format!("the states are {}", all.join(", "))
    })
}

fn failure(text: &str) -> Result<FailReason, String> {
    let word = StrDeserializer::<serde::de::value::Error>::new(text);
    FailReason::deserialize(word).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_it_is_or_as_how_long_ago() {
        let now: Timestamp = "2026-03-01T09:00:00Z".parse().unwrap();
        for (text, at) in [
            ("30m", "2026-03-01T08:30:00Z"),
            ("1d", "2026-02-28T09:00:00Z"),
            ("2026-02-01T00:00:00+01:00", "2026-01-31T23:00:00Z"),
        ] {
            assert_eq!(moment(text).unwrap().at(now).to_string(), at, "{text}");
        }
        for bad in ["30", "yesterday", "2026-03-01", "-5m"] {
            assert!(moment(bad).is_err(), "{bad}");
        }
    }
}
