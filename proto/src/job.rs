//! The states of a job as people and other programs see them (those of A2A 1.0), and which may
//! follow which.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A job's state: A2A's task states, in their hyphenated form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// Stored, and not looked at yet.
    Submitted,
    /// Something is being done or is queued for a worker, or waits for the clock.
    Working,
    /// It waits for a person; nothing else can move it.
    InputRequired,
    /// It waits for somebody to sign in somewhere.
    AuthRequired,
    /// It reached its goal.
    Completed,
    /// It ended without reaching its goal.
    Failed,
    /// Somebody stopped it.
    Canceled,
    /// It was refused before anything was done.
    Rejected,
}

impl JobState {
    /// All states, in the order above.
    pub const ALL: [Self; 8] = [
        Self::Submitted,
        Self::Working,
        Self::InputRequired,
        Self::AuthRequired,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::Rejected,
    ];

    /// Whether the job has ended.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Canceled | Self::Rejected => true,
            Self::Submitted | Self::Working | Self::InputRequired | Self::AuthRequired => false,
        }
    }

    /// The word used on every surface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::InputRequired => "input-required",
            Self::AuthRequired => "auth-required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Rejected => "rejected",
        }
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a job is busy with, below its [`JobState`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubStatus {
    /// The planner is at work, or the plan is queued for one.
    Planning,
    /// Steps are being carried out.
    Executing,
    /// The rest of the plan is being replanned.
    Replanning,
    /// It waits for a person, at no cost.
    Parked,
    /// It waits for the clock before trying again.
    BackingOff,
    /// An operator holds it.
    Paused,
    /// A record of its log cannot be understood; nothing is done until that is mended.
    Poisoned,
}

impl fmt::Display for SubStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Planning => "planning",
            Self::Executing => "executing",
            Self::Replanning => "replanning",
            Self::Parked => "parked",
            Self::BackingOff => "backing-off",
            Self::Paused => "paused",
            Self::Poisoned => "poisoned",
        })
    }
}

/// How a job ended. Only terminal states can be written here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Outcome {
    /// The goal was reached.
    Completed {
        /// The final answer, for people.
        summary: String,
        /// The results of the steps, by step id.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        results: Value,
    },
    /// The goal was not reached.
    Failed {
        /// A stable reason.
        reason: FailReason,
        /// What happened, for people.
        message: String,
        /// The results of the steps that did complete, by step id.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        results: Value,
    },
    /// Somebody stopped it.
    Canceled {
        /// Why, in that person's words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl Outcome {
    /// The job state this outcome is.
    #[must_use]
    pub fn state(&self) -> JobState {
        match self {
            Self::Completed { .. } => JobState::Completed,
            Self::Failed { .. } => JobState::Failed,
            Self::Canceled { .. } => JobState::Canceled,
        }
    }
}

/// Why a job failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailReason {
    /// No usable plan was made.
    PlanFailed,
    /// A step failed and the policy says stop.
    StepFailed,
    /// The wall-clock deadline passed.
    DeadlineExceeded,
    /// A question was not answered in time and has no default.
    QuestionExpired,
    /// More replans than the policy allows.
    ReplanLimit,
    /// Its log reached the bound on records.
    HistoryFull,
    /// An agent asked again and again what had been answered.
    QuestionRepeated,
    /// Agents asked more questions than the policy allows.
    TooManyQuestions,
    /// Something it may spend was used up.
    BudgetExceeded,
    /// A guard ended it: nothing new came of what it did.
    NoProgress,
}

impl FailReason {
    /// The word in records and on screens.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PlanFailed => "plan_failed",
            Self::StepFailed => "step_failed",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::QuestionExpired => "question_expired",
            Self::ReplanLimit => "replan_limit",
            Self::HistoryFull => "history_full",
            Self::QuestionRepeated => "question_repeated",
            Self::TooManyQuestions => "too_many_questions",
            Self::BudgetExceeded => "budget_exceeded",
            Self::NoProgress => "no_progress",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_spelled_as_a2a_spells_them() {
        let words: Vec<_> =
            JobState::ALL.iter().map(|s| serde_json::to_value(s).unwrap()).collect();
        assert_eq!(words, JobState::ALL.map(|s| Value::from(s.as_str())));
    }
}
