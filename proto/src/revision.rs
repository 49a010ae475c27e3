//! How a plan came to be what it is: every plan that has been in force, why it made way for the
//! next one, and what changed from one to the other.

use serde::{Deserialize, Serialize};

use crate::{id::StepId, step::StepState};

/// The reason for a replan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A step had failed.
    #[default]
    Failed,
    /// A step had completed that the plan lists, or all of them had.
    Listed,
    /// A step had completed, and the agent replans after each.
    Completed,
    /// The action was over, and the next one is decided.
    Turn,
    /// A person had said what should be done otherwise, and nothing that was left of the plan could
    /// have heard it.
    Steered,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Failed, Self::Listed, Self::Completed, Self::Turn, Self::Steered];

    /// The word in records and on screens.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Listed => "listed",
            Self::Completed => "completed",
            Self::Turn => "turn",
            Self::Steered => "steered",
        }
    }

    /// Whether a plan without steps says that nothing remains to be done. After a failure it would
    /// say that the failure does not matter, which is for the agent's policy to allow.
    #[must_use]
    pub fn may_leave_nothing(self) -> bool {
        match self {
            Self::Failed | Self::Turn => false,
            Self::Listed | Self::Completed | Self::Steered => true,
        }
    }
}

/// A plan that has been in force, as a change of the one before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Revision {
    /// How many plans there have been before it.
    pub number: u32,
    /// What it is for.
    pub title: String,
    /// Why the plan before it made way; absent for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Its steps, and those of the plan before it that are not in it.
    pub steps: Vec<Line>,
}

/// One line of the difference between two plans.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Whether the step is new, stayed, or is gone.
    pub change: Change,
    /// The step.
    pub id: StepId,
    /// What to call it.
    pub label: String,
    /// What it comes after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<StepId>,
    /// Where it stands now, or stood when it went.
    pub state: StepState,
}

/// Whether a step is new in a plan, stayed, or is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is in this plan and was not in the one before.
    Added,
    /// It was in the plan before and is in this one.
    Kept,
    /// It was in the plan before and is not in this one.
    Dropped,
}

impl Change {
    /// As differences are marked: `+`, a space, `-`.
    #[must_use]
    pub fn mark(self) -> char {
        match self {
            Self::Added => '+',
            Self::Kept => ' ',
            Self::Dropped => '-',
        }
    }
}

/// Something a person told a running job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instruction {
    /// What they said.
    pub text: String,
    /// Whether a plan or a model turn was sent that carries it.
    pub heard: bool,
}
