//! The findings of fsck, and the states of healthy jobs.

use broker::log::Queue;
use machine::check;
use proto::{
    decision::DecisionKind,
    id::{AskId, JobId, Seq, TimerName},
    lang::Language,
};
use serde::{Serialize, Serializer, ser::SerializeStruct};

messages::texts!(fsck);

/// An inconsistency of a job.
#[derive(Debug, Clone, PartialEq, Eq, strum::IntoStaticStr, derive_more::Display)]
#[display("{}", self.text(Language::En))]
#[strum(serialize_all = "snake_case")]
pub enum Finding {
    /// The log alone shows a fault.
    #[strum(transparent)]
    Log(check::Finding),
    /// A decision is missing, and no fact that would trigger it is queued for the supervisor.
    Unattended {
        /// Kind of the missing decision.
        kind: DecisionKind,
        /// Position of the decision before it.
        after: Seq,
    },
    /// A command has no result and was acknowledged, so it will not be redelivered.
    Dropped {
        /// Position of the command.
        seq: Seq,
        /// Queue of the command.
        queue: Queue,
    },
    /// One of several delivered commands has no result and was acknowledged. The broker does not
    /// say which.
    #[strum(to_string = "dropped")]
    OneOfDropped {
        /// Position of the command.
        seq: Seq,
        /// Queue of the command.
        queue: Queue,
        /// Number of delivered commands without a result.
        commands: usize,
        /// Number of unacknowledged deliveries of the queue.
        held: u64,
    },
    /// A command belongs to a queue without a consumer, so it is not delivered.
    Uncovered {
        /// Position of the command.
        seq: Seq,
        /// Queue that would deliver it.
        queue: Queue,
    },
    /// The job waits for a timer that is not armed and has not fired.
    NoTimer {
        /// Name of the timer.
        timer: TimerName,
    },
    /// An open question is not in the inbox, and no command that adds it is queued.
    NotInInbox {
        /// Id of the question.
        ask: AskId,
    },
    /// A child job has no log.
    NoChild {
        /// Id of the child.
        child: JobId,
    },
    /// A child job has ended, and its parent was not told.
    ChildUnheard {
        /// Id of the child.
        child: JobId,
    },
    /// The inbox shows a question that is not open.
    StillInInbox {
        /// Id of the question.
        ask: AskId,
    },
}

impl Finding {
    /// Returns `true` if this is the same finding as in an earlier check; counts may differ.
    pub(super) fn stays(&self, before: &Self) -> bool {
        match (self, before) {
            (Self::OneOfDropped { seq, .. }, Self::OneOfDropped { seq: earlier, .. }) => {
                seq == earlier
            }
            (now, before) => now == before,
        }
    }

    /// Returns a stable identifier of the finding, for programs.
    #[must_use]
    pub fn word(&self) -> &'static str {
        self.into()
    }

    /// Returns the finding as a sentence without a full stop.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let text = match self {
            Self::Log(finding) => return finding.text(language),
            Self::Unattended { kind, after } => Text::Unattended { kind, after },
            Self::Dropped { seq, queue } => Text::Dropped { seq, queue },
            Self::OneOfDropped { seq, queue, commands, held } => {
                Text::OneOfDropped { seq, queue, commands, held }
            }
            Self::Uncovered { seq, queue } => Text::Uncovered { seq, queue },
            Self::NoTimer { timer } => Text::NoTimer { timer },
            Self::NotInInbox { ask } => Text::NotInInbox { ask },
            Self::NoChild { child } => Text::NoChild { child },
            Self::ChildUnheard { child } => Text::ChildUnheard { child },
            Self::StillInInbox { ask } => Text::StillInInbox { ask },
        };
        text.text(language)
    }

    /// Returns the remedy, for display.
    #[must_use]
    pub fn advice(&self, language: Language) -> String {
        let text = match self {
            Self::Log(_) => Text::ReportLog,
            Self::Unattended { .. } => Text::StartSupervisor,
            Self::Dropped { .. } | Self::OneOfDropped { .. } => Text::DecideAgain,
            Self::Uncovered { .. } => Text::StartWorker,
            Self::NoTimer { .. } => Text::WaitForSweep,
            Self::NotInInbox { .. } => Text::AnswerAnyway,
            Self::StillInInbox { .. } => Text::Harmless,
            Self::NoChild { .. } | Self::ChildUnheard { .. } => Text::SubmitFamilyAgain,
        };
        text.text(language)
    }
}

/// Programs read English in every locale.
impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut found = serializer.serialize_struct("Finding", 3)?;
        found.serialize_field("kind", self.word())?;
        found.serialize_field("found", &self.text(Language::En))?;
        found.serialize_field("advice", &self.advice(Language::En))?;
        found.end()
    }
}

/// The state of a healthy job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::VariantArray)]
pub enum JobCondition {
    /// The job has ended.
    Ended,
    /// A command for a worker, or a fact for the supervisor, is queued.
    Queued,
    /// A worker has the job's command.
    Leased,
    /// The job waits for a person, and its question is in the inbox.
    Person,
    /// The job waits for a timer, which is armed.
    Clock,
    /// The job waits for a child, which has a log and has not ended.
    Child,
    /// An operator has paused the job.
    Held,
    /// The job has a dead letter, which waits for an operator.
    DeadLettered,
    /// The job is held by an unreadable record, or its fold panics.
    Parked,
    /// The job changed during every check.
    Moving,
}

impl JobCondition {
    /// All states, in display order.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns the name of the state, for display.
    #[must_use]
    pub fn text(self, language: Language) -> String {
        let text = match self {
            Self::Ended => Text::Ended,
            Self::Queued => Text::Queued,
            Self::Leased => Text::Leased,
            Self::Person => Text::Person,
            Self::Clock => Text::Clock,
            Self::Child => Text::Child,
            Self::Held => Text::Held,
            Self::DeadLettered => Text::DeadLettered,
            Self::Parked => Text::Parked,
            Self::Moving => Text::Moving,
        };
        text.text(language)
    }
}
