//! In which order steps run, how they are carried out, and what their failure means.

use serde::{Deserialize, Serialize};

use super::checked::{Checked, InvalidAgent, refuse};
use crate::{limits, plan::Action, retry::RetryPolicy};

/// In which order steps run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dispatch {
    /// Every step whose dependencies have completed runs at once.
    Parallel,
    /// One step at a time, in the plan's order; one that depends on a later one comes after it.
    Sequential,
    /// Level by level: a step is as many levels down as dependencies follow each other above it,
    /// and nothing of a level is begun before the whole level above it has ended.
    Levels,
}

/// How steps are carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stepping {
    /// How often a failed step is run again before it counts as failed.
    pub retry: RetryPolicy,
    /// What a failed step means for the job.
    pub on_failure: OnFailure,
    /// What becomes of steps that need one that failed, where the job goes on.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub on_blocked: OnBlocked,
    /// What becomes of a step whose agent reports that it did not reach what it was for.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub on_unsuccessful: OnUnsuccessful,
    /// Model turns of one run of a step (1 to 100).
    pub max_turns: u32,
    /// How a step is carried out.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub exec: StepExec,
    /// Tool calls and questions of one turn (1 to 64); the model is told of those that are too many.
    #[serde(default = "calls_max", skip_serializing_if = "is_calls_max")]
    pub max_calls: u32,
}

/// How a step is carried out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepExec {
    /// As the planner says: a step that names a tool is one call of it, any other is a loop of model
    /// turns and tool calls.
    #[default]
    AsPlanned,
    /// Every step is one tool call. A plan with another step is refused, and the planner told.
    DirectTool,
    /// Every step is a loop. A plan with a step that names a tool is refused, and the planner told.
    MasterLoop,
    /// Steps without a tool are one model turn: the one call it asks for is the step, and what it
    /// says instead is its result.
    SingleAction,
}

/// What a failed step means for the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// Nothing new is started, what runs may end, and the job fails.
    Stop,
    /// Steps that do not need it go on.
    Continue,
    /// The rest of the plan is replanned.
    Replan,
    /// The job fails at once: what runs is abandoned, and what comes of it changes nothing.
    FailRun,
}

/// What becomes of steps that need one that failed, where the job goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnBlocked {
    /// They are blocked, and the job fails when everything else has ended.
    #[default]
    Error,
    /// They are skipped, and the job completes with what it has; it fails only when nothing has
    /// completed.
    Skip,
}

/// What becomes of a step whose agent reports that it did not reach what it was for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnsuccessful {
    /// Its run has failed: another follows by `step.retry`, or the step has failed.
    #[default]
    Fail,
    /// It has completed without success: what was reported is its result, and what comes after it
    /// goes on and is told so.
    Complete,
}

impl StepExec {
    /// Whether a step may be carried out so.
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

/// [`limits::CALLS_PER_TURN_MAX`] as policies count.
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
            return refuse("step.max_turns", "must be 1 to 100");
        }
        if !(1..=calls_max()).contains(&self.max_calls) {
            return refuse("step.max_calls", "must be 1 to 64");
        }
        Ok(())
    }
}
