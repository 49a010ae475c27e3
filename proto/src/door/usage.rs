//! The verb that sums what jobs cost.

use jiff::{Timestamp, civil::Date};
use serde::{Deserialize, Serialize};

use super::Filter;
use crate::{
    id::{AgentName, JobId},
    job::JobState,
    spent::Spent,
};

/// The request for the cost of jobs. Without `since` it is about the jobs that were submitted in the
/// last [`crate::limits::USAGE_DAYS`] days.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct GetUsage {
    /// Jobs whose cost is summed. Its fields are the fields of the request.
    pub filter: Filter,
}

/// The cost of jobs, each job with its own: the cost of its children is theirs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UsageReport {
    /// Earliest time of a submission that is included.
    pub since: Timestamp,
    /// Time before which the jobs were submitted; absent if the report reaches to the present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Number of jobs.
    pub jobs: u32,
    /// Cost of all of them.
    #[serde(flatten)]
    pub total: Spent,
    /// Cost by the day of the submission in UTC, the earliest first. Days without jobs are left out.
    pub days: Vec<DaySpent>,
    /// Cost by agent, the dearest first.
    pub agents: Vec<NameSpent>,
    /// Cost of model calls by model, the dearest first. `default` is the model of the configuration.
    pub models: Vec<NameSpent>,
    /// Cost of tools by tool, the dearest first. Tools that cost nothing are left out.
    pub tools: Vec<NameSpent>,
    /// The dearest jobs, the dearest first. Jobs that cost nothing are left out.
    pub dearest: Vec<JobSpent>,
    /// `true` if there are earlier jobs that were not examined.
    pub more: bool,
    /// Time of the submission of the last job that was examined, if there are earlier ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<Timestamp>,
}

/// The cost of the jobs of one day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DaySpent {
    /// Day in UTC.
    pub day: Date,
    /// Number of jobs.
    pub jobs: u32,
    /// Their cost.
    #[serde(flatten)]
    pub spent: Spent,
}

/// The cost of the jobs of an agent, or of a model or a tool in jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NameSpent {
    /// Name of the agent, the model or the tool.
    pub name: String,
    /// Number of jobs.
    pub jobs: u32,
    /// Cost in these jobs.
    #[serde(flatten)]
    pub spent: Spent,
}

/// The cost of one job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct JobSpent {
    /// Id of the job.
    pub job: JobId,
    /// Goal, truncated to one line.
    pub goal: String,
    /// Name of the agent.
    pub agent: AgentName,
    /// State of the job.
    pub state: JobState,
    /// Server time of the submission.
    pub created: Timestamp,
    /// Cost of the job without its children.
    #[serde(flatten)]
    pub spent: Spent,
}
