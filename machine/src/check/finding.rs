//! The faults that a check of a log can find.

use std::fmt;

use proto::{
    decision::DecisionKind,
    id::{Attempt, Seq, WorkId},
};

/// A fault in a log.
#[derive(Debug, Clone, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Finding {
    /// The log has no submission.
    NeverSubmitted,
    /// A record belongs to another job, or its position is not after the previous one.
    Misplaced {
        /// Position of the record.
        seq: Seq,
    },
    /// The job is held by an unreadable record, or by a decision that cannot follow.
    Parked {
        /// Position of the record.
        seq: Seq,
        /// Description of the fault.
        reason: String,
    },
    /// A decision was stored a second time.
    DecidedTwice {
        /// Position of the second decision.
        seq: Seq,
        /// Label of the decision.
        what: String,
    },
    /// A decision was stored after the end of the job.
    AfterTheEnd {
        /// Position of the decision.
        seq: Seq,
    },
    /// Two attempts of a tool call have different idempotency keys.
    KeyChanged {
        /// Position of the attempt with the other key.
        seq: Seq,
        /// Unit of work of the call.
        work: WorkId,
    },
    /// A result has no command before it.
    Commandless {
        /// Position of the result.
        seq: Seq,
        /// Unit of work that it names.
        work: WorkId,
        /// Attempt that it names.
        attempt: Attempt,
    },
    /// Two results of one attempt counted.
    CountedTwice {
        /// Position of the second result.
        seq: Seq,
        /// Unit of work.
        work: WorkId,
        /// Number of the attempt.
        attempt: Attempt,
    },
    /// The job completed although a command has no result that counted.
    Unanswered {
        /// Position of the command.
        seq: Seq,
        /// Unit of work.
        work: WorkId,
        /// Number of the attempt.
        attempt: Attempt,
    },
    /// The state calls for a decision that is not in the log.
    MissingDecision {
        /// Kind of the missing decision.
        kind: DecisionKind,
        /// Position of the last decision.
        after: Seq,
    },
    /// The job has not ended, and no event that can happen would advance it.
    WaitsForNothing {
        /// Position of its last record.
        seq: Seq,
    },
}

impl Finding {
    /// Returns a stable identifier of the fault, for programs.
    #[must_use]
    pub fn word(&self) -> &'static str {
        self.into()
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverSubmitted => f.write_str("it was never submitted"),
            Self::Misplaced { seq } => write!(f, "record {seq} is out of place"),
            Self::Parked { seq, reason } => write!(f, "parked at record {seq}: {reason}"),
            Self::DecidedTwice { seq, what } => write!(f, "record {seq} decides {what} again"),
            Self::AfterTheEnd { seq } => write!(f, "record {seq} decides after the end"),
            Self::KeyChanged { seq, work } => write!(f, "record {seq} changes the key of {work}"),
            Self::Commandless { seq, work, attempt } => {
                write!(f, "record {seq} answers {work} #{attempt}, which no decision requested")
            }
            Self::CountedTwice { seq, work, attempt } => {
                write!(f, "record {seq} counted as a second result of {work} #{attempt}")
            }
            Self::Unanswered { seq, work, attempt } => {
                write!(f, "{work} #{attempt}, decided in record {seq}, has no result")
            }
            Self::MissingDecision { kind, after } => {
                write!(f, "a {} should follow record {after}", kind.as_str())
            }
            Self::WaitsForNothing { seq } => {
                write!(f, "it stopped at record {seq} and waits for nothing")
            }
        }
    }
}
