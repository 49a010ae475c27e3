//! The states of a step and their transitions.

use serde::{Deserialize, Serialize};

/// The state of a step.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum StepState {
    /// The step waits for steps that it depends on.
    #[default]
    Pending,
    /// All dependencies have completed; the dispatch policy, a replan or a pause may hold the step
    /// back.
    Ready,
    /// A command of the step is queued or with a worker.
    Running,
    /// The step waits for a person or for a timer.
    Waiting,
    /// The step ended with a result, which may still say `success: false`.
    Completed,
    /// The step ended without a usable result, and no attempt is left.
    Failed,
    /// The step can never run, because a step that it depends on failed.
    Blocked,
    /// A later plan dropped the step.
    Skipped,
    /// The job ended before the step did.
    Canceled,
}

impl StepState {
    /// Returns whether the state is final.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Blocked | Self::Skipped | Self::Canceled => true,
            Self::Pending | Self::Ready | Self::Running | Self::Waiting => false,
        }
    }

    /// Returns whether the step needs no more work: it completed, or a later plan dropped it.
    #[must_use]
    pub fn is_done(self) -> bool {
        match self {
            Self::Completed | Self::Skipped => true,
            Self::Pending
            | Self::Ready
            | Self::Running
            | Self::Waiting
            | Self::Failed
            | Self::Blocked
            | Self::Canceled => false,
        }
    }

    /// Returns whether `next` may follow this state.
    #[must_use]
    pub fn may_become(self, next: Self) -> bool {
        use StepState::{
            Blocked, Canceled, Completed, Failed, Pending, Ready, Running, Skipped, Waiting,
        };
        match (self, next) {
            (a, b) if a == b => !a.is_terminal(),
            // The arguments may prove unresolvable before any command is sent.
            (Pending, Ready | Running | Waiting | Failed | Blocked | Skipped | Canceled) => true,
            (Ready, Running | Waiting | Failed | Skipped | Canceled) => true,
            (Running | Waiting, Running | Waiting | Completed | Failed | Skipped | Canceled) => {
                true
            }
            // A new plan may drop a failed step and the steps that it blocked.
            (Failed | Blocked, Skipped) => true,
            (Pending | Ready | Running | Waiting, _) => false,
            (Completed | Failed | Blocked | Skipped | Canceled, _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::StepState::{
        Blocked, Canceled, Completed, Failed, Pending, Ready, Running, Skipped, Waiting,
    };

    #[test]
    fn a_completed_step_is_immutable() {
        for next in
            [Pending, Ready, Running, Waiting, Completed, Failed, Blocked, Skipped, Canceled]
        {
            assert!(!Completed.may_become(next), "completed → {next}");
        }
    }

    #[test]
    fn nothing_goes_back_to_pending() {
        for from in [Ready, Running, Waiting, Completed, Failed, Blocked, Skipped, Canceled] {
            assert!(!from.may_become(Pending), "{from} → pending");
        }
    }
}
