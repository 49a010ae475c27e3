//! The faults that a check of a log can find.

use proto::{
    decision::DecisionKind,
    id::{Attempt, Seq, WorkId},
};

/// A fault in a log.
#[derive(Debug, Clone, PartialEq, Eq, strum::IntoStaticStr, derive_more::Display)]
#[strum(serialize_all = "snake_case")]
pub enum Finding {
    /// The log has no submission.
    #[display("it was never submitted")]
    NeverSubmitted,
    /// A record belongs to another job, or its position is not after the previous one.
    #[display("record {seq} is out of place")]
    Misplaced {
        /// Position of the record.
        seq: Seq,
    },
    /// The job is held by an unreadable record, or by a decision that cannot follow.
    #[display("parked at record {seq}: {reason}")]
    Parked {
        /// Position of the record.
        seq: Seq,
        /// Description of the fault.
        reason: String,
    },
    /// The job has ended, and an unreadable record, or a decision that cannot follow, held it before.
    #[display("ended after record {seq}: {reason}")]
    EndedUnread {
        /// Position of the record.
        seq: Seq,
        /// Description of the fault.
        reason: String,
    },
    /// A decision was stored a second time.
    #[display("record {seq} decides {what} again")]
    DecidedTwice {
        /// Position of the second decision.
        seq: Seq,
        /// Label of the decision.
        what: String,
    },
    /// A decision was stored after the end of the job.
    #[display("record {seq} decides after the end")]
    AfterTheEnd {
        /// Position of the decision.
        seq: Seq,
    },
    /// Two attempts of a tool call have different idempotency keys.
    #[display("record {seq} changes the key of {work}")]
    KeyChanged {
        /// Position of the attempt with the other key.
        seq: Seq,
        /// Unit of work of the call.
        work: WorkId,
    },
    /// A result has no command before it.
    #[display("record {seq} answers {work} #{attempt}, which no decision requested")]
    Commandless {
        /// Position of the result.
        seq: Seq,
        /// Unit of work that it names.
        work: WorkId,
        /// Attempt that it names.
        attempt: Attempt,
    },
    /// Two results of one attempt counted.
    #[display("record {seq} counted as a second result of {work} #{attempt}")]
    CountedTwice {
        /// Position of the second result.
        seq: Seq,
        /// Unit of work.
        work: WorkId,
        /// Number of the attempt.
        attempt: Attempt,
    },
    /// The job completed although a command has no result that counted.
    #[display("{work} #{attempt}, decided in record {seq}, has no result")]
    Unanswered {
        /// Position of the command.
        seq: Seq,
        /// Unit of work.
        work: WorkId,
        /// Number of the attempt.
        attempt: Attempt,
    },
    /// The state calls for a decision that is not in the log.
    #[display("a {kind} should follow record {after}")]
    MissingDecision {
        /// Kind of the missing decision.
        kind: DecisionKind,
        /// Position of the last decision.
        after: Seq,
    },
    /// The job has not ended, and no event that can happen would advance it.
    #[display("it stopped at record {seq} and waits for nothing")]
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
