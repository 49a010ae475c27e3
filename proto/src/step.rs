//! The states of a step and which may follow which.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a step stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// It waits for steps it depends on.
    #[default]
    Pending,
    /// Everything it depends on is there; policy or a pause holds it back.
    Ready,
    /// A command for it is in a queue or with a worker.
    Running,
    /// It waits for a person or for the clock.
    Waiting,
    /// It ended; its result may still say `success: false`.
    Completed,
    /// It ended without a usable result, and no attempt is left.
    Failed,
    /// A step it depends on failed, so it can never run.
    Blocked,
    /// A new plan dropped it.
    Skipped,
    /// The job was canceled before it ended.
    Canceled,
}

impl StepState {
    /// Whether nothing follows.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Blocked | Self::Skipped | Self::Canceled => true,
            Self::Pending | Self::Ready | Self::Running | Self::Waiting => false,
        }
    }

    /// Whether it ended as it should, or a later plan needs it no more.
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

    /// Whether `next` may follow this state.
    #[must_use]
    pub fn may_become(self, next: Self) -> bool {
        use StepState::{
            Blocked, Canceled, Completed, Failed, Pending, Ready, Running, Skipped, Waiting,
        };
        match (self, next) {
            (a, b) if a == b => !a.is_terminal(),
            // Its arguments may turn out not to be resolvable before anything is sent.
            (Pending, Ready | Running | Waiting | Failed | Blocked | Skipped | Canceled) => true,
            (Ready, Running | Waiting | Failed | Skipped | Canceled) => true,
            (Running | Waiting, Running | Waiting | Completed | Failed | Skipped | Canceled) => {
                true
            }
            // A failed step may be taken out of a new plan, and so may one that was blocked by it.
            (Failed | Blocked, Skipped) => true,
            (Pending | Ready | Running | Waiting, _) => false,
            (Completed | Failed | Blocked | Skipped | Canceled, _) => false,
        }
    }
}

impl fmt::Display for StepState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "pending",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Skipped => "skipped",
            Self::Canceled => "canceled",
        })
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
