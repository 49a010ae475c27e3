//! The faults that a check of a log can find.

use proto::{
    decision::DecisionKind,
    id::{Attempt, Seq, WorkId},
    lang::Language,
};

messages::texts!(check);

/// A fault in a log.
#[derive(Debug, Clone, PartialEq, Eq, strum::IntoStaticStr, derive_more::Display)]
#[display("{}", self.text(Language::En))]
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
    /// The job has ended, and an unreadable record, or a decision that cannot follow, held it before.
    EndedUnread {
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

    /// Returns the finding as a sentence without a full stop.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let text = match self {
            Self::NeverSubmitted => Text::NeverSubmitted,
            Self::Misplaced { seq } => Text::Misplaced { seq },
            Self::Parked { seq, reason } => Text::Parked { seq, reason },
            Self::EndedUnread { seq, reason } => Text::EndedUnread { seq, reason },
            Self::DecidedTwice { seq, what } => Text::DecidedTwice { seq, what },
            Self::AfterTheEnd { seq } => Text::AfterTheEnd { seq },
            Self::KeyChanged { seq, work } => Text::KeyChanged { seq, work },
            Self::Commandless { seq, work, attempt } => Text::Commandless { seq, work, attempt },
            Self::CountedTwice { seq, work, attempt } => Text::CountedTwice { seq, work, attempt },
            Self::Unanswered { seq, work, attempt } => Text::Unanswered { seq, work, attempt },
            Self::MissingDecision { kind, after } => Text::MissingDecision { kind, after },
            Self::WaitsForNothing { seq } => Text::WaitsForNothing { seq },
        };
        text.text(language)
    }
}
