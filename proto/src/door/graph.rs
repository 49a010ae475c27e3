//! The verb that shows the graph of a job's workflow.

use serde::{Deserialize, Serialize};

use crate::{id::JobId, point::Point};

/// The request to show the graph of a job's workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetGraph {
    /// Id of the job.
    pub job: JobId,
    /// Point of the log at which to show the graph; the present when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Point>,
    /// `true` for the definition as files, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub files: bool,
}
