//! The verbs that list and count jobs.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Filter, SearchText};
use crate::{
    id::{AgentName, ConversationId, JobId},
    job::{FailReason, JobState},
    label::Labels,
    view::JobSummary,
};

/// The request for a list of jobs, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(from = "Fields")]
pub struct List {
    /// Jobs to list. Its fields are fields of the request.
    #[serde(flatten)]
    pub filter: Filter,
    /// Maximum number of jobs (1 to 500, 50 when absent).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Job after which the list starts. It and all jobs that were submitted later are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<JobId>,
}

/// The fields of [`List`] in JSON. A flattened struct would lose the path of a wrong field.
#[derive(Default, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Fields {
    states: Vec<JobState>,
    agent: Option<AgentName>,
    labels: Labels,
    text: Option<SearchText>,
    conversation: Option<ConversationId>,
    parent: Option<JobId>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    updated_since: Option<Timestamp>,
    failure: Option<FailReason>,
    attention: bool,
    limit: Option<u32>,
    after: Option<JobId>,
}

impl From<Fields> for List {
    fn from(fields: Fields) -> Self {
        let Fields {
            states,
            agent,
            labels,
            text,
            conversation,
            parent,
            since,
            until,
            updated_since,
            failure,
            attention,
            limit,
            after,
        } = fields;
        let filter = Filter {
            states,
            agent,
            labels,
            text,
            conversation,
            parent,
            since,
            until,
            updated_since,
            failure,
            attention,
        };
        Self { filter, limit, after }
    }
}

/// A page of a list of jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Listed {
    /// Jobs of the page, newest first.
    pub jobs: Vec<JobSummary>,
    /// `true` if there are further jobs that were not examined.
    pub more: bool,
    /// Last job that was examined; the next request passes it as `after`. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<JobId>,
    /// Time of the submission of that job: earlier ones were not examined. Absent on the last page,
    /// and if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<Timestamp>,
}

/// The request for the numbers of jobs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Count {
    /// Jobs to count. Its fields are the fields of the request.
    pub filter: Filter,
}

/// The numbers of jobs, children included and purged jobs not.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Counted {
    /// Jobs that have not ended, poisoned ones included.
    pub open: u64,
    /// Jobs that reached their goal.
    pub completed: u64,
    /// Jobs that failed.
    pub failed: u64,
    /// Jobs that were cancelled, or whose plan a person rejected.
    pub canceled: u64,
}

impl Counted {
    /// Counts a job in this state.
    pub fn add(&mut self, state: JobState) {
        let count = match state {
            JobState::Submitted
            | JobState::Working
            | JobState::InputRequired
            | JobState::AuthRequired => &mut self.open,
            JobState::Completed => &mut self.completed,
            JobState::Failed => &mut self.failed,
            JobState::Canceled | JobState::Rejected => &mut self.canceled,
        };
        *count = count.saturating_add(1);
    }

    /// Returns the number of all jobs.
    #[must_use]
    pub fn total(&self) -> u64 {
        [self.completed, self.failed, self.canceled]
            .iter()
            .fold(self.open, |a, b| a.saturating_add(*b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strict;

    #[test]
    fn a_list_is_written_with_the_fields_of_its_filter_and_read_again() {
        let list = List {
            filter: Filter {
                states: vec![JobState::Failed],
                agent: Some(AgentName::new("careful").unwrap()),
                labels: serde_json::from_str(r#"{"team":"billing"}"#).unwrap(),
                text: Some(SearchText::new("rent").unwrap()),
                conversation: Some(ConversationId::new("c").unwrap()),
                parent: Some(JobId::new("p").unwrap()),
                since: Some(Timestamp::UNIX_EPOCH),
                until: Some(Timestamp::MAX),
                updated_since: Some(Timestamp::UNIX_EPOCH),
                failure: Some(FailReason::StepFailed),
                attention: true,
            },
            limit: Some(7),
            after: Some(JobId::new("j").unwrap()),
        };
        let json = serde_json::to_vec(&list).unwrap();
        assert_eq!(strict::request::<List>(&json).unwrap(), list);
        let filter = serde_json::to_vec(&Count { filter: list.filter.clone() }).unwrap();
        assert_eq!(strict::request::<Count>(&filter).unwrap().filter, list.filter);
    }

    #[test]
    fn a_wrong_field_of_a_filter_is_named() {
        for (body, at) in [
            (r#"{"states":["failed","sleeping"]}"#, "states[1]"),
            (r#"{"labels":{"Team":"x"}}"#, "labels"),
            (r#"{"since":"yesterday"}"#, "since"),
            (r#"{"text":""}"#, "text"),
            (r#"{"colour":1}"#, "colour"),
        ] {
            for refused in [
                strict::request::<List>(body.as_bytes()).unwrap_err(),
                strict::request::<Count>(body.as_bytes()).unwrap_err(),
            ] {
                let strict::Refused::Field { field, .. } = refused else { panic!("{refused}") };
                assert!(field.starts_with(at), "{field}, not {at}");
            }
        }
    }
}
