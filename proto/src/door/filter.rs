//! The filter of jobs: one form for every verb that selects jobs.

use derive_more::Display;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    headline::Headline,
    id::{AgentName, ConversationId, JobId},
    job::{FailReason, JobState},
    label::Labels,
    limits,
    view::JobSummary,
};

/// The jobs that a request is about. A job matches if it meets every condition; an absent or empty
/// condition is met by all jobs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// States of the jobs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<JobState>,
    /// Agent of the jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Labels that the jobs have, all of them.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// Part of the goal, as rows show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<SearchText>,
    /// Conversation of the jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// Parent of the jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<JobId>,
    /// Earliest time of the submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Time before which the job was submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Earliest time of the last record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_since: Option<Timestamp>,
    /// Reason for which the jobs failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailReason>,
    /// `true` for jobs that need attention: a fault of the installation holds them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub attention: bool,
}

/// A text to search for, whatever its case: 1 to [`limits::SEARCH_CHARS_MAX`] characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Display, schemars::JsonSchema)]
#[serde(try_from = "String")]
pub struct SearchText(Box<str>);

/// A text that cannot be searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to {max} characters", max = limits::SEARCH_CHARS_MAX)]
pub struct InvalidSearchText;

impl SearchText {
    /// Checks a text.
    ///
    /// # Errors
    /// Fails when the text is empty or too long.
    pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidSearchText> {
        let lower = text.as_ref().to_lowercase();
        let fits = (1..=limits::SEARCH_CHARS_MAX).contains(&text.as_ref().chars().count());
        if fits { Ok(Self(lower.into())) } else { Err(InvalidSearchText) }
    }

    /// Returns `true` if a text in lower case holds this one.
    fn is_in(&self, lower: &str) -> bool {
        lower.contains(&*self.0)
    }
}

impl TryFrom<String> for SearchText {
    type Error = InvalidSearchText;
    fn try_from(text: String) -> Result<Self, InvalidSearchText> {
        Self::new(text)
    }
}

impl std::str::FromStr for SearchText {
    type Err = InvalidSearchText;
    fn from_str(text: &str) -> Result<Self, InvalidSearchText> {
        Self::new(text)
    }
}

impl Filter {
    /// Returns the filter of jobs in these states.
    #[must_use]
    pub fn of_states(states: impl Into<Vec<JobState>>) -> Self {
        Self { states: states.into(), ..Self::default() }
    }

    /// Returns `true` if every job matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns `true` if only the states of jobs matter.
    #[must_use]
    pub fn is_of_states(&self) -> bool {
        *self == Self::of_states(self.states.clone())
    }

    /// Returns `true` if a job was submitted within the times of the filter.
    #[must_use]
    pub fn admits_time(&self, submitted: Timestamp) -> bool {
        self.since.is_none_or(|since| since <= submitted)
            && self.until.is_none_or(|until| submitted < until)
    }

    /// Returns `true` if a job with this headline may match: its state and its last record matter,
    /// too.
    #[must_use]
    pub fn admits(&self, headline: &Headline) -> bool {
        self.agent.as_ref().is_none_or(|agent| *agent == headline.agent)
            && headline.labels.include(&self.labels)
            && self.text.as_ref().is_none_or(|text| text.is_in(&headline.goal))
            && (self.conversation.is_none() || self.conversation == headline.conversation)
            && (self.parent.is_none() || self.parent == headline.parent)
    }

    /// Returns `true` if jobs match by their headline and their state alone.
    #[must_use]
    pub fn needs_no_row(&self) -> bool {
        self.updated_since.is_none() && self.failure.is_none() && !self.attention
    }

    /// Returns `true` if a job in this state may match.
    #[must_use]
    pub fn admits_state(&self, state: JobState) -> bool {
        (self.states.is_empty() || self.states.contains(&state))
            && (self.failure.is_none() || state == JobState::Failed)
            && !(self.attention && state.is_terminal())
    }

    /// Returns `true` if a job matches.
    #[must_use]
    pub fn matches(&self, row: &JobSummary) -> bool {
        let headline = Headline {
            agent: row.agent.clone(),
            parent: row.parent.clone(),
            conversation: row.conversation.clone(),
            labels: row.labels.clone(),
            goal: row.goal.to_lowercase().into(),
        };
        self.admits(&headline)
            && self.admits_time(row.created)
            && self.admits_state(row.state)
            && self.updated_since.is_none_or(|since| since <= row.updated)
            && (self.failure.is_none() || self.failure == row.failure)
            && (!self.attention || row.needs_attention())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::job::SubStatus;

    fn row() -> JobSummary {
        serde_json::from_value(json!({
            "job": "j", "state": "failed", "goal": "Pay the Rent, 付房租", "agent": "careful",
            "labels": {"team": "billing", "env": "prod"}, "conversation": "c", "parent": "p",
            "steps_done": 0, "steps": 1, "questions": 0, "failure": "step_failed",
            "created": "2026-03-01T09:00:00Z", "updated": "2026-03-01T10:00:00Z",
        }))
        .unwrap()
    }

    #[test]
    fn a_job_matches_if_it_meets_every_condition() {
        for (filter, matches) in [
            (json!({}), true),
            (json!({"states": ["completed", "failed"]}), true),
            (json!({"states": ["completed"]}), false),
            (json!({"agent": "careful"}), true),
            (json!({"agent": "care"}), false),
            (json!({"labels": {"env": "prod", "team": "billing"}}), true),
            (json!({"labels": {"env": "prod", "team": "sales"}}), false),
            (json!({"text": "RENT, 付"}), true),
            (json!({"text": "rents"}), false),
            (json!({"conversation": "c"}), true),
            (json!({"conversation": "d"}), false),
            (json!({"parent": "p"}), true),
            (json!({"parent": "j"}), false),
            (json!({"since": "2026-03-01T09:00:00Z"}), true),
            (json!({"since": "2026-03-01T09:00:01Z"}), false),
            (json!({"until": "2026-03-01T09:00:01Z"}), true),
            (json!({"until": "2026-03-01T09:00:00Z"}), false),
            (json!({"updated_since": "2026-03-01T10:00:00Z"}), true),
            (json!({"updated_since": "2026-03-01T10:00:01Z"}), false),
            (json!({"failure": "step_failed"}), true),
            (json!({"failure": "plan_failed"}), false),
        ] {
            let read: Filter = serde_json::from_value(filter.clone()).unwrap();
            assert_eq!(read.matches(&row()), matches, "{filter}");
            let written = serde_json::to_value(&read).unwrap();
            assert_eq!(serde_json::from_value::<Filter>(written).unwrap(), read);
            assert_eq!(read.is_empty(), filter == json!({}));
        }
    }

    #[test]
    fn a_job_needs_attention_if_the_installation_holds_it() {
        let filter: Filter = serde_json::from_value(json!({"attention": true})).unwrap();
        assert!(!filter.needs_no_row() && !filter.is_of_states() && !filter.matches(&row()));
        let held = |why: serde_json::Value| {
            let mut job = JobSummary { state: JobState::Working, failure: None, ..row() };
            job.why = serde_json::from_value(why).unwrap();
            filter.matches(&job)
        };
        let since = "2026-03-01T10:00:00Z";
        assert!(held(json!({"code": "no_supervisor", "shard": 1, "since": since})));
        assert!(!held(json!({"code": "paused", "since": since})));
        assert!(!held(json!(null)));
        let unreadable = JobSummary {
            state: JobState::Working,
            sub_status: Some(SubStatus::Poisoned),
            why: None,
            ..row()
        };
        assert!(filter.matches(&unreadable));
    }

    #[test]
    fn a_text_to_search_for_is_short() {
        assert!(SearchText::new("").is_err());
        assert!(SearchText::new("字".repeat(limits::SEARCH_CHARS_MAX)).is_ok());
        assert!(SearchText::new("字".repeat(limits::SEARCH_CHARS_MAX + 1)).is_err());
    }
}
