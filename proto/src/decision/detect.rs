//! What a planner is to find out before it plans. Nothing here finds it out.

use serde::{Deserialize, Serialize};

use crate::policy::Detector;

/// How it is found out whether a goal needs a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detect {
    /// What finds it out.
    pub by: Detector,
    /// The model that is asked; the one that plans when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}
