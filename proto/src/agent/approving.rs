//! The policy of approvals.

use serde::{Deserialize, Serialize};

/// The policy of approvals: of plans before they run, and of tool calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Approving {
    /// `true` if another person than the submitter must approve. The submitter may still reject or
    /// change. It binds the jobs that an agent delegates, too. Without people, nobody is known to
    /// be another person, so nobody can approve.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub four_eyes: bool,
}
