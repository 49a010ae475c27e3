//! The verb that sends one signal to all jobs of a filter.

use serde::{Deserialize, Serialize};

use super::Filter;
use crate::{error::Failure, id::JobId, job::JobState, point::Order, view::JobSummary};

/// The request to count the jobs that a signal applies to, or to send it to them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// Jobs of the batch. Jobs to which the signal does not apply are left out, and so are child jobs
    /// unless the filter names their parent.
    pub filter: Filter,
    /// Signal to send.
    pub signal: BatchSignal,
    /// Number of jobs that an earlier request counted. Without it nothing is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<u32>,
    /// Reason, in the sender's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Name of the sender. The server ignores it when a token identifies the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The signals that a batch may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum BatchSignal {
    /// [`Order::Cancel`], to jobs that have not ended.
    Cancel,
    /// [`Order::Pause`], to jobs that have not ended and are not paused.
    Pause,
    /// [`Order::Resume`], to paused jobs.
    Resume,
    /// [`Order::Recover`], to failed jobs that would not fail again at once.
    Recover {
        /// Confirms the rollbacks even when `once` tools would run again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
}

impl From<BatchSignal> for Order {
    fn from(signal: BatchSignal) -> Self {
        match signal {
            BatchSignal::Cancel => Self::Cancel,
            BatchSignal::Pause => Self::Pause,
            BatchSignal::Resume => Self::Resume,
            BatchSignal::Recover { again } => Self::Recover { again },
        }
    }
}

/// The reply to a batch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Batched {
    /// Number of jobs that the signal applies to, as far as they were examined.
    pub count: u32,
    /// `true` if there are further jobs that were not examined. Such a batch cannot be sent.
    pub more: bool,
    /// The newest of these jobs, if nothing was sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<JobSummary>,
    /// What the signal did to each job, newest first, if it was sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<BatchOutcome>,
}

/// What a signal of a batch did to one job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BatchOutcome {
    /// Id of the job.
    pub job: JobId,
    /// State of the job after the signal; absent if it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<JobState>,
    /// Reason for which the job refused the signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<Failure>>,
}
