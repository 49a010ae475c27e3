//! The policies of steps: their order, their execution, and the consequences of failures.

use serde::{Deserialize, Serialize};

use super::checked::{Checked, InvalidAgent, refuse};
use crate::{bounds::Text, limits, plan::Action, retry::RetryPolicy};

/// The order of the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dispatch {
    /// Every step starts once its dependencies have completed.
    Parallel,
    /// One step runs at a time, in the plan's order. A step that depends on a later one follows
    /// that one.
    Sequential,
    /// Steps run level by level. A step's level is the length of its longest chain of dependencies;
    /// no step starts before all steps of the previous level have ended.
    Levels,
}

/// The policy of carrying out steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Stepping {
    /// Retry policy of failed steps.
    pub retry: RetryPolicy,
    /// Consequence of a failed step for the job.
    pub on_failure: OnFailure,
    /// Treatment of steps that depend on a failed one, when the job continues.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub on_blocked: OnBlocked,
    /// Treatment of a step whose agent reports that its purpose was not achieved.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub on_unsuccessful: OnUnsuccessful,
    /// Bound on the model turns of one run of a step (1 to 100).
    pub max_turns: u32,
    /// Way in which steps are carried out.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub exec: StepExec,
    /// Bound on the tool calls and questions of one turn (1 to 64). The model is told which calls
    /// exceeded it.
    #[serde(default = "calls_max", skip_serializing_if = "is_calls_max")]
    pub max_calls: u32,
}

/// The way in which steps are carried out.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum StepExec {
    /// By the plan: a step that names a tool is a single call, any other is a loop of model turns
    /// and tool calls.
    #[default]
    AsPlanned,
    /// Every step is a single tool call. A plan with any other step is refused with an error for
    /// the planner.
    DirectTool,
    /// Every step is a loop. A plan with a step that names a tool is refused with an error for the
    /// planner.
    MasterLoop,
    /// A step without a tool is a single model turn. The one call of that turn is the step; a text
    /// without a call is the step's result.
    SingleAction,
}

/// The consequence of a failed step for the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// No new work starts, running work may end, and the job fails.
    Stop,
    /// Steps that do not depend on the failed one continue.
    Continue,
    /// The rest of the plan is replanned.
    Replan,
    /// The job fails at once. Running work is abandoned, and its results change nothing.
    FailRun,
}

/// The treatment of steps that depend on a failed one, when the job continues.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum OnBlocked {
    /// The steps are blocked, and the job fails once everything else has ended.
    #[default]
    Error,
    /// The steps are skipped, and the job completes with the results it has. It fails only when no
    /// step has completed.
    Skip,
}

/// The treatment of a step whose agent reports that its purpose was not achieved.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum OnUnsuccessful {
    /// The run has failed: `step.retry` decides on another run, or the step fails.
    #[default]
    Fail,
    /// The step completes without success. The report is its result, and dependent steps continue
    /// with the notice that it was unsuccessful.
    Complete,
}

impl StepExec {
    /// Returns whether a step with this action may be carried out so.
    #[must_use]
    pub fn allows(self, action: &Action) -> bool {
        match (self, action) {
            (Self::AsPlanned | Self::SingleAction, Action::Tool { .. } | Action::Agent)
            | (Self::DirectTool, Action::Tool { .. })
            | (Self::MasterLoop, Action::Agent) => true,
            (Self::DirectTool, Action::Agent) | (Self::MasterLoop, Action::Tool { .. }) => false,
        }
    }
}

/// The maximum of calls per turn ([`limits::CALLS_PER_TURN_MAX`]), in the type of the policy.
pub(super) const fn calls_max() -> u32 {
    limits::CALLS_PER_TURN_MAX as u32
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
const fn is_calls_max(calls: &u32) -> bool {
    *calls == calls_max()
}

impl Default for Stepping {
    fn default() -> Self {
        Self {
            retry: RetryPolicy::never(),
            on_failure: OnFailure::Stop,
            on_blocked: OnBlocked::Error,
            on_unsuccessful: OnUnsuccessful::Fail,
            max_turns: limits::TURNS_MAX,
            exec: StepExec::AsPlanned,
            max_calls: calls_max(),
        }
    }
}

impl Stepping {
    pub(super) fn check(&self) -> Checked {
        if let Err((field, why)) = self.retry.check() {
            return Err(InvalidAgent { field: format!("step.retry.{field}"), why });
        }
        if !(1..=limits::TURNS_MAX).contains(&self.max_turns) {
            return refuse("step.max_turns", Text::Between { low: &1, high: &100 });
        }
        if !(1..=calls_max()).contains(&self.max_calls) {
            return refuse("step.max_calls", Text::Between { low: &1, high: &64 });
        }
        Ok(())
    }
}
