//! The findings of fsck, and the states of healthy jobs.

use broker::log::Queue;
use machine::check;
use proto::{
    decision::DecisionKind,
    id::{AskId, JobId, Seq, TimerName},
};
use serde::{Serialize, Serializer, ser::SerializeStruct};

/// An inconsistency of a job.
#[derive(Debug, Clone, PartialEq, Eq, strum::IntoStaticStr, derive_more::Display)]
#[strum(serialize_all = "snake_case")]
pub enum Finding {
    /// The log alone shows a fault.
    #[strum(transparent)]
    Log(check::Finding),
    /// A decision is missing, and no fact that would trigger it is queued for the supervisor.
    #[display(
        "the decision {kind} should follow record {after}, and no pending fact will trigger it"
    )]
    Unattended {
        /// Kind of the missing decision.
        kind: DecisionKind,
        /// Position of the decision before it.
        after: Seq,
    },
    /// A command has no result and was acknowledged, so it will not be redelivered.
    #[display("the command {seq} of {queue} was acknowledged and has no result")]
    Dropped {
        /// Position of the command.
        seq: Seq,
        /// Queue of the command.
        queue: Queue,
    },
    /// One of several delivered commands has no result and was acknowledged. The broker does not
    /// say which.
    #[strum(to_string = "dropped")]
    #[display(
        "the command {seq} of {queue} is one of {commands} without a result, of which workers hold {held}"
    )]
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
    #[display("the command {seq} cannot be delivered: {queue} has no consumer")]
    Uncovered {
        /// Position of the command.
        seq: Seq,
        /// Queue that would deliver it.
        queue: Queue,
    },
    /// The job waits for a timer that is not armed and has not fired.
    #[display("it waits for the timer {timer}, which is not armed")]
    NoTimer {
        /// Name of the timer.
        timer: TimerName,
    },
    /// An open question is not in the inbox, and no command that adds it is queued.
    #[display("the question {ask} is open and not in the inbox")]
    NotInInbox {
        /// Id of the question.
        ask: AskId,
    },
    /// A child job has no log.
    #[display("its child job {child} has no log")]
    NoChild {
        /// Id of the child.
        child: JobId,
    },
    /// A child job has ended, and its parent was not told.
    #[display("its child job {child} has ended, and the job was not informed")]
    ChildUnheard {
        /// Id of the child.
        child: JobId,
    },
    /// The inbox shows a question that is not open.
    #[display("the question {ask} is in the inbox and not open")]
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

    /// Returns the remedy, for display.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Log(_) => "keep the log (`callboard jobs show JOB -o json`) and report it",
            Self::Unattended { .. } => "start a supervisor; it checks every open job of its shards",
            Self::Dropped { .. } | Self::OneOfDropped { .. } => {
                "cancel the job and submit its goal again; keep its log and report it"
            }
            Self::Uncovered { .. } => {
                "start a worker of this pool, or have an operator run `callboard setup --tool-pool POOL`"
            }
            Self::NoTimer { .. } => {
                "the supervisor's next sweep arms it again; `callboard jobs dead retry JOB` ends a backoff now"
            }
            Self::NotInInbox { .. } => "answer it anyway: `callboard jobs describe JOB` shows it",
            Self::StillInInbox { .. } => "harmless: an answer to it is refused",
            Self::NoChild { .. } | Self::ChildUnheard { .. } => {
                "cancel the job and submit its goal again; keep both logs and report it"
            }
        }
    }
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut found = serializer.serialize_struct("Finding", 3)?;
        found.serialize_field("kind", self.word())?;
        found.serialize_field("found", &self.to_string())?;
        found.serialize_field("advice", self.advice())?;
        found.end()
    }
}

/// The state of a healthy job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::VariantArray, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum JobCondition {
    /// The job has ended.
    Ended,
    /// A command for a worker, or a fact for the supervisor, is queued.
    Queued,
    /// A worker has the job's command.
    #[strum(to_string = "with a worker")]
    Leased,
    /// The job waits for a person, and its question is in the inbox.
    #[strum(to_string = "waiting for a person")]
    Person,
    /// The job waits for a timer, which is armed.
    #[strum(to_string = "waiting for a timer")]
    Clock,
    /// The job waits for a child, which has a log and has not ended.
    #[strum(to_string = "waiting for a child")]
    Child,
    /// An operator has paused the job.
    #[strum(to_string = "paused by an operator")]
    Held,
    /// The job has a dead letter, which waits for an operator.
    #[strum(to_string = "dead-lettered")]
    DeadLettered,
    /// The job is held by an unreadable record, or its fold panics.
    #[strum(to_string = "parked at a record")]
    Parked,
    /// The job changed during every check.
    #[strum(to_string = "changing all the time")]
    Moving,
}

impl JobCondition {
    /// All states, in display order.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns the name of the state, for display.
    #[must_use]
    pub fn words(self) -> &'static str {
        self.into()
    }
}
