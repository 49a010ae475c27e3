//! The detection that a planner runs before it plans.

use serde::{Deserialize, Serialize};

use crate::policy::Detector;

/// The settings of the detection whether a goal needs a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Detect {
    /// Detector that decides it.
    pub by: Detector,
    /// Model for the detection; the planning model when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}
