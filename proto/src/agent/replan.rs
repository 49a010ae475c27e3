//! The policy of replanning: its condition, and the treatment of the current plan.

use serde::{Deserialize, Serialize};

use super::checked::{Checked, refuse};
use crate::{bounds::Text, limits};

/// The policy of replanning. Completed steps are never replanned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Replanning {
    /// Condition for replanning, besides a failed step with `step.on_failure: replan`. When absent,
    /// the condition follows from the protocol and from `step.on_failure`; see
    /// [`Agent::replan_when`](super::Agent::replan_when).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<ReplanWhen>,
    /// Steps of the plan's `replan` list that must have completed, with
    /// [`ReplanWhen::AfterListed`].
    #[serde(skip_serializing_if = "crate::is_default")]
    pub listed: Listed,
    /// Treatment of the current plan.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub apply: ReplanApply,
    /// Bound on the replans of a job (at most 100). Rounds of a planner that decides one action at
    /// a time do not count.
    pub max: u32,
}

/// The condition for replanning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplanWhen {
    /// Never: the first plan is the only one.
    Never,
    /// After a failed step, where `step.on_failure` is `replan`.
    OnFailure,
    /// After the steps in the plan's `replan` list.
    AfterListed,
    /// After every completed step.
    AfterEachStep,
    /// After every item of the planner's list, and after every action to check whether its item is
    /// done: planning in phases.
    AfterEachItem,
    /// After every action: planning one decision at a time.
    EveryTurn,
}

/// The steps of the list that must have completed.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Listed {
    /// Each of them: every completed step causes a replan.
    #[default]
    Each,
    /// All of them: the last completed step causes the only replan.
    All,
}

/// The treatment of the current plan on a replan.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ReplanApply {
    /// The new plan replaces the old one. The planner sees the earlier results, later steps can
    /// read them, and the revisions list the old plan; the plan's view and the summary leave it
    /// out.
    ReplaceAll,
    /// Completed steps stay in the plan; the new steps replace all others.
    #[default]
    ReplacePending,
    /// Completed and unfinished steps stay in the plan, and the new steps are added.
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
            return refuse("replan.max", Text::AtMost { max: &100 });
        }
        Ok(())
    }
}
