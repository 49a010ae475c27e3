//! The states of a job, as users and other programs see them (those of A2A 1.0), and their
//! transitions.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The state of a job: one of A2A's task states, in hyphenated form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::IntoStaticStr, strum::VariantArray, strum::Display, strum::EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum JobState {
    /// The submission is stored and the supervisor has decided nothing yet.
    Submitted,
    /// Work runs, is queued for a worker, or waits for a timer.
    Working,
    /// The job waits for a person's answer, and no other work is out.
    InputRequired,
    /// The job waits for a user to sign in to another service. A2A has this state; the job machine
    /// never reports it.
    AuthRequired,
    /// The job ended and reached its goal.
    Completed,
    /// The job ended without reaching its goal.
    Failed,
    /// The job ended because of a cancellation.
    Canceled,
    /// The submission was refused before any work started. A2A has this state; the job machine
    /// never reports it.
    Rejected,
}

impl JobState {
    /// All states, in the order of the variants.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns whether the state is final.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Canceled | Self::Rejected => true,
            Self::Submitted | Self::Working | Self::InputRequired | Self::AuthRequired => false,
        }
    }

    /// Returns whether the job waits for a person.
    #[must_use]
    pub fn needs_person(self) -> bool {
        match self {
            Self::InputRequired | Self::AuthRequired => true,
            Self::Submitted
            | Self::Working
            | Self::Completed
            | Self::Failed
            | Self::Canceled
            | Self::Rejected => false,
        }
    }

    /// The word used on every surface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The activity of a job within its [`JobState`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::IntoStaticStr, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum SubStatus {
    /// A planner works on the first plan, or the command to plan is queued.
    Planning,
    /// Steps run or are queued.
    Executing,
    /// The rest of the plan is being replanned.
    Replanning,
    /// The job waits for a person's answer, or for an operator to retry a dead letter. It uses no
    /// worker.
    Parked,
    /// The job waits for a timer before the next attempt.
    BackingOff,
    /// An operator paused the job.
    Paused,
    /// A record of the job's log cannot be read. Nothing is decided until the record can be read,
    /// or is rolled back.
    Poisoned,
}

/// The end of a job. Only terminal states have a variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Outcome {
    /// The job reached its goal.
    Completed {
        /// Final answer, for users.
        summary: String,
        /// Results of the steps, by step id; null when there are none.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        results: Value,
        /// Result that fits the agent's schema (`output`); null when there is no schema.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        value: Value,
    },
    /// The job did not reach its goal.
    Failed {
        /// Reason, stable for programs.
        reason: FailReason,
        /// Description of the failure, for users.
        message: String,
        /// Results of the steps that completed, by step id; null when there are none.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        results: Value,
    },
    /// The job was cancelled.
    Canceled {
        /// Reason of the cancellation, in the words of its sender; absent when none was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl Outcome {
    /// Returns the terminal state that belongs to this outcome.
    #[must_use]
    pub fn state(&self) -> JobState {
        match self {
            Self::Completed { .. } => JobState::Completed,
            Self::Failed { .. } => JobState::Failed,
            Self::Canceled { .. } => JobState::Canceled,
        }
    }

    /// Returns the structured result; null without one.
    #[must_use]
    pub fn value(&self) -> &Value {
        match self {
            Self::Completed { value, .. } => value,
            Self::Failed { .. } | Self::Canceled { .. } => &Value::Null,
        }
    }

    /// Returns the reason of a failure.
    #[must_use]
    pub fn failure(&self) -> Option<FailReason> {
        match self {
            Self::Failed { reason, .. } => Some(*reason),
            Self::Completed { .. } | Self::Canceled { .. } => None,
        }
    }
}

/// The reason why a job failed.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::EnumString,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum FailReason {
    /// The planner gave no usable plan.
    PlanFailed,
    /// A step failed, and the policy ends the job.
    StepFailed,
    /// The job's deadline passed.
    DeadlineExceeded,
    /// A question expired without an answer and without a default.
    QuestionExpired,
    /// The job was replanned more often than the policy allows.
    ReplanLimit,
    /// The log reached its bound on records.
    HistoryFull,
    /// An agent repeated a question that had been answered.
    QuestionRepeated,
    /// Agents asked more questions than the policy allows.
    TooManyQuestions,
    /// A limit of the budget was used up.
    BudgetExceeded,
    /// A guard ended the job because its work made no progress.
    NoProgress,
    /// No reply of the model fit the schema of the result.
    OutputInvalid,
}

impl FailReason {
    /// Returns `true` if the job may succeed from just before its failure. A job that has used up its
    /// time, its budget or its log, or that a guard stopped, would fail again at once.
    #[must_use]
    pub fn may_be_recovered(self) -> bool {
        match self {
            Self::PlanFailed
            | Self::StepFailed
            | Self::QuestionExpired
            | Self::ReplanLimit
            | Self::QuestionRepeated
            | Self::TooManyQuestions
            | Self::OutputInvalid => true,
            Self::DeadlineExceeded
            | Self::BudgetExceeded
            | Self::HistoryFull
            | Self::NoProgress => false,
        }
    }

    /// Returns the word in records and on screens.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_spelled_as_a2a_spells_them() {
        let words: Vec<_> =
            JobState::ALL.iter().map(|s| serde_json::to_value(s).unwrap()).collect();
        assert_eq!(
            words,
            JobState::ALL.iter().map(|s| Value::from(s.as_str())).collect::<Vec<_>>()
        );
    }
}
