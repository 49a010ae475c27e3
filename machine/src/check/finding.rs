//! What can be wrong with a log, in words that say where.

use std::fmt;

use proto::{
    decision::DecisionKind,
    id::{Attempt, Seq, WorkId},
};

/// Something that must never be in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// There is no submission.
    NeverSubmitted,
    /// A record of another job, or not after the one before it.
    Misplaced {
        /// Where.
        seq: Seq,
    },
    /// A record that cannot be read, or a decision that cannot follow: the job is parked.
    Parked {
        /// Where.
        seq: Seq,
        /// Why.
        reason: String,
    },
    /// The same was decided a second time.
    DecidedTwice {
        /// Where, the second time.
        seq: Seq,
        /// What.
        what: String,
    },
    /// A decision after the job's end.
    AfterTheEnd {
        /// Where.
        seq: Seq,
    },
    /// The attempts of one tool call do not carry the same key.
    KeyChanged {
        /// Where.
        seq: Seq,
        /// Which call.
        work: WorkId,
    },
    /// A result for which there is no command before it.
    Commandless {
        /// Where.
        seq: Seq,
        /// For what.
        work: WorkId,
        /// Which attempt.
        attempt: Attempt,
    },
    /// A second result of one attempt counted.
    CountedTwice {
        /// Where.
        seq: Seq,
        /// For what.
        work: WorkId,
        /// Which attempt.
        attempt: Attempt,
    },
    /// A job completed although a command of it has no result that counted.
    Unanswered {
        /// Where the command is.
        seq: Seq,
        /// For what.
        work: WorkId,
        /// Which attempt.
        attempt: Attempt,
    },
    /// A decision should follow and is not there.
    MissingDecision {
        /// Which.
        kind: DecisionKind,
        /// After which.
        after: Seq,
    },
    /// The job has not ended, and nothing that could come would move it.
    WaitsForNothing {
        /// Its last record.
        seq: Seq,
    },
}

impl Finding {
    /// A stable word for programs.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::NeverSubmitted => "never_submitted",
            Self::Misplaced { .. } => "misplaced",
            Self::Parked { .. } => "parked",
            Self::DecidedTwice { .. } => "decided_twice",
            Self::AfterTheEnd { .. } => "after_the_end",
            Self::KeyChanged { .. } => "key_changed",
            Self::Commandless { .. } => "commandless",
            Self::CountedTwice { .. } => "counted_twice",
            Self::Unanswered { .. } => "unanswered",
            Self::MissingDecision { .. } => "missing_decision",
            Self::WaitsForNothing { .. } => "waits_for_nothing",
        }
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
