//! Findings of fsck, and the standings of healthy jobs.

use std::fmt;

use broker::log::Queue;
use machine::check;
use proto::{
    decision::DecisionKind,
    id::{AskId, JobId, Seq, TimerName},
};
use serde::{Serialize, Serializer, ser::SerializeStruct};

/// An inconsistency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// The log alone shows it.
    Log(check::Finding),
    /// A decision should follow, and no fact that would trigger it is on its way to the supervisor.
    Unattended {
        /// The decision's kind.
        kind: DecisionKind,
        /// The decision before it.
        after: Seq,
    },
    /// A command has no result and was acknowledged: it will not be redelivered.
    Dropped {
        /// The command.
        seq: Seq,
        /// Its queue.
        queue: Queue,
    },
    /// One of several delivered commands has no result and was acknowledged; the broker does not
    /// say which.
    OneOfDropped {
        /// The command.
        seq: Seq,
        /// Its queue.
        queue: Queue,
        /// The number of delivered commands without a result.
        commands: usize,
        /// The number of unacknowledged ones among them.
        held: u64,
    },
    /// A command that no consumer delivers.
    Uncovered {
        /// The command.
        seq: Seq,
        /// The queue that would deliver it.
        queue: Queue,
    },
    /// The job waits for a timer that is not armed and has not fired.
    NoTimer {
        /// The timer.
        timer: TimerName,
    },
    /// An open question is not in the inbox, nor on its way there.
    NotInInbox {
        /// The question.
        ask: AskId,
    },
    /// A child job has no log.
    NoChild {
        /// The child.
        child: JobId,
    },
    /// A child job has ended, and its parent was not notified.
    ChildUnheard {
        /// The child.
        child: JobId,
    },
    /// The inbox shows a question that is not open.
    StillInInbox {
        /// The question.
        ask: AskId,
    },
}

impl Finding {
    /// It is the finding of an earlier check; its counts may differ.
    pub(super) fn stays(&self, before: &Self) -> bool {
        match (self, before) {
            (Self::OneOfDropped { seq, .. }, Self::OneOfDropped { seq: earlier, .. }) => {
                seq == earlier
            }
            (now, before) => now == before,
        }
    }

    /// A stable word for programs.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Log(found) => found.word(),
            Self::Unattended { .. } => "unattended",
            Self::Dropped { .. } | Self::OneOfDropped { .. } => "dropped",
            Self::Uncovered { .. } => "uncovered",
            Self::NoTimer { .. } => "no_timer",
            Self::NotInInbox { .. } => "not_in_inbox",
            Self::StillInInbox { .. } => "still_in_inbox",
            Self::NoChild { .. } => "no_child",
            Self::ChildUnheard { .. } => "child_unheard",
        }
    }

    /// The remedy, for people.
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
                "`callboard jobs dead retry JOB` retries the work that waits for a timer now"
            }
            Self::NotInInbox { .. } => "answer it anyway: `callboard jobs describe JOB` shows it",
            Self::StillInInbox { .. } => "harmless: an answer to it is refused",
            Self::NoChild { .. } | Self::ChildUnheard { .. } => {
                "cancel the job and submit its goal again; keep both logs and report it"
            }
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(found) => found.fmt(f),
            Self::Unattended { kind, after } => write!(
                f,
                "the decision {} should follow record {after}, and no pending fact will trigger it",
                kind.as_str()
            ),
            Self::Dropped { seq, queue } => {
                write!(f, "the command {seq} of {queue} was acknowledged and has no result")
            }
            Self::OneOfDropped { seq, queue, commands, held } => write!(
                f,
                "the command {seq} of {queue} is one of {commands} without a result, of which workers hold {held}"
            ),
            Self::Uncovered { seq, queue } => {
                write!(f, "the command {seq} cannot be delivered: {queue} has no consumer")
            }
            Self::NoTimer { timer } => {
                write!(f, "it waits for the timer {timer}, which is not armed")
            }
            Self::NotInInbox { ask } => {
                write!(f, "the question {ask} is open and not in the inbox")
            }
            Self::NoChild { child } => {
                write!(f, "its child job {child} has no log")
            }
            Self::ChildUnheard { child } => {
                write!(f, "its child job {child} has ended, and the job was not informed")
            }
            Self::StillInInbox { ask } => {
                write!(f, "the question {ask} is in the inbox and not open")
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

/// The standing of a healthy job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It has ended.
    Ended,
    /// A command for a worker, or a fact for the supervisor, waits for its delivery.
    Queued,
    /// A worker has its command.
    Leased,
    /// It waits for a person; the question is in the inbox.
    Person,
    /// It waits for the clock; the timer is armed.
    Clock,
    /// It waits for a child job, which has a log and has not ended.
    Child,
    /// An operator holds it.
    Held,
    /// It has a dead letter, which waits for an operator.
    DeadLettered,
    /// A record of it cannot be read.
    Parked,
    /// It changed between all checks.
    Moving,
}

impl Standing {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 10] = [
        Self::Ended,
        Self::Queued,
        Self::Leased,
        Self::Person,
        Self::Clock,
        Self::Child,
        Self::Held,
        Self::DeadLettered,
        Self::Parked,
        Self::Moving,
    ];

    /// The word for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Queued => "queued",
            Self::Leased => "with a worker",
            Self::Person => "waiting for a person",
            Self::Clock => "waiting for a timer",
            Self::Child => "waiting for a child",
            Self::Held => "paused by an operator",
            Self::DeadLettered => "dead-lettered",
            Self::Parked => "parked at a record",
            Self::Moving => "changing all the time",
        }
    }
}
