//! Replanning: when it happens, and what becomes of the current plan.

use serde::{Deserialize, Serialize};

use super::checked::{Checked, refuse};
use crate::limits;

/// When the rest of the plan is replanned. Completed steps are never replanned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Replanning {
    /// When, besides a failed step where `step.on_failure` is `replan`. What the protocol brings
    /// with it when absent: see [`Agent::replan_when`](super::Agent::replan_when).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<ReplanWhen>,
    /// Which of the steps that a plan lists must have completed, with [`ReplanWhen::AfterListed`].
    #[serde(skip_serializing_if = "crate::is_default")]
    pub listed: Listed,
    /// What becomes of the plan in force.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub apply: ReplanApply,
    /// Replans in the life of the job. Rounds of a planner that decides one action at a time are
    /// none.
    pub max: u32,
}

/// When the rest of the plan is replanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplanWhen {
    /// Never: the first plan is the last one.
    Never,
    /// When a step has failed, where `step.on_failure` is `replan`.
    OnFailure,
    /// When steps have completed that the plan lists in its `replan`.
    AfterListed,
    /// After every step that has completed.
    AfterEachStep,
    /// After every item of the planner's list, and after every action to see whether its item is
    /// done: planning in phases.
    AfterEachItem,
    /// After every action: planning one decision at a time.
    EveryTurn,
}

/// Which of the listed steps must have completed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Listed {
    /// After each of them.
    #[default]
    Each,
    /// Once, after all of them.
    All,
}

/// What becomes of the plan in force when another one is made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplanApply {
    /// The new plan stands alone. What completed before is told to the planner, can be read by
    /// later steps, and is a revision that can be looked at; the plan and the summary are without
    /// it.
    ReplaceAll,
    /// What has completed stays in the plan, everything else makes way for the new steps.
    #[default]
    ReplacePending,
    /// What has completed stays, what is still to be done stays too, and the new steps are added.
    Append,
}

impl Default for Replanning {
    fn default() -> Self {
        Self { when: None, listed: Listed::default(), apply: ReplanApply::default(), max: 3 }
    }
}

impl Replanning {
    pub(super) fn check(&self) -> Checked {
        if self.max > limits::ATTEMPTS_MAX {
            return refuse("replan.max", "must be at most 100");
        }
        Ok(())
    }
}
