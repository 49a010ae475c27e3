//! Approvals of tool calls that count for later calls of the same job.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{AskId, Seq, ToolName};

/// The scope for which an approval of a tool call is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Remember {
    /// Later calls of the same tool in this job, whatever their arguments, while the same policies
    /// ask about them. Sub-agents ask for themselves.
    Job,
}

/// A part of the policies that makes a person approve a tool call. `level` is 0 for the job's own
/// agent, and otherwise the number of the job above that passed its policies on, the nearest one
/// first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum AskedBy {
    /// The tool needs an approval by itself.
    Tool,
    /// A rule for calls (`approval.rules`).
    Rule {
        /// Level of the agent.
        #[serde(default, skip_serializing_if = "is_own")]
        level: u32,
        /// Number of the rule, from 1.
        rule: u32,
    },
    /// The policy for calls after content from outside (`approval.untrusted`).
    Untrusted {
        /// Level of the agent.
        #[serde(default, skip_serializing_if = "is_own")]
        level: u32,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_own(level: &u32) -> bool {
    *level == 0
}

/// An approval that counts for later calls of the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remembered {
    /// Tool whose calls it covers.
    pub tool: ToolName,
    /// Version of the tool.
    pub version: String,
    /// Policies that it satisfies. A call that another policy asks about needs an approval of its
    /// own.
    pub asked_by: Vec<AskedBy>,
    /// Question whose answer was remembered.
    pub ask: AskId,
    /// Name of the user who answered.
    pub by: String,
    /// Position of the answer in the log.
    pub seq: Seq,
    /// Server time of the answer.
    pub at: Timestamp,
}

impl Remembered {
    /// Returns `true` if the approval covers a call of a tool that these policies ask about.
    #[must_use]
    pub fn covers(&self, tool: &ToolName, version: &str, asked_by: &[AskedBy]) -> bool {
        let satisfies = |by: &AskedBy| self.asked_by.contains(by);
        self.tool == *tool
            && self.version == version
            && !asked_by.is_empty()
            && asked_by.iter().all(satisfies)
    }
}
