//! The history of a plan: every plan that has been in force, the cause of its replacement, and the
//! changes.

use serde::{Deserialize, Serialize};

use crate::{id::StepId, step::StepState};

/// The cause of a replan.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Cause {
    /// A step failed.
    #[default]
    Failed,
    /// A step completed that the plan's `replan` list names, or all of these completed.
    Listed,
    /// A step completed, and the agent replans after each one.
    Completed,
    /// The action ended, and the planner decides the next one; or a turn of a goal taken for simple
    /// asked for changes that a person confirms.
    Turn,
    /// A user instructed the job, and no remaining step could carry the instruction.
    Steered,
}

impl Cause {
    /// Returns the word in records and on screens.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns whether a plan without steps may mean that no work remains. After a failure such a
    /// plan would mean that the failure is irrelevant, which only the agent's policy may allow.
    #[must_use]
    pub fn may_leave_nothing(self) -> bool {
        match self {
            Self::Failed | Self::Turn => false,
            Self::Listed | Self::Completed | Self::Steered => true,
        }
    }
}

/// A plan that was in force, as a change of the one before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Revision {
    /// Number of plans before this one.
    pub number: u32,
    /// Purpose of the plan, in one line.
    pub title: String,
    /// Cause for which the previous plan was replaced; absent for the first plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Steps of the plan, and steps of the previous plan that it dropped.
    pub steps: Vec<Line>,
}

/// A line of the difference between two plans.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Line {
    /// Change of the step.
    pub change: Change,
    /// Id of the step.
    pub id: StepId,
    /// Text for screens: the step's title or description.
    pub label: String,
    /// Steps that must complete before this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<StepId>,
    /// Current state of the step, or its state when it was dropped.
    pub state: StepState,
}

/// The change of a step between two plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The step is in the new plan only.
    Added,
    /// The step is in both plans.
    Kept,
    /// The step is in the old plan only.
    Dropped,
}

impl Change {
    /// Returns the mark of a difference: `+`, a space, or `-`.
    #[must_use]
    pub fn mark(self) -> char {
        match self {
            Self::Added => '+',
            Self::Kept => ' ',
            Self::Dropped => '-',
        }
    }
}

/// An instruction of a user to a running job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Instruction {
    /// Text of the instruction.
    pub text: String,
    /// `true` once a command to a planner or a model has carried the instruction.
    pub heard: bool,
}
