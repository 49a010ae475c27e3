//! Bugs that can be planted without a change to the tested code. The simulated broker deceives the
//! processes in a way that has the same effect on the log as the bug. Each shows that the
//! simulation finds its kind of bug.

use clap::ValueEnum;

/// A planted bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mutation {
    /// The broker stores decisions without compare-and-set
    NoCompareAndSet,
    /// Armed timers never fire
    DropTimers,
    /// Each process reads a job's log once, and decides without reading it again
    DecideBeforeReading,
    /// Workers acknowledge commands before they carry them out
    AckBeforeWork,
    /// Supervisors acknowledge facts before they store the decisions that follow
    AckBeforeDeciding,
    /// A `once` tool does not see the intents of earlier attempts
    BlindIntents,
    /// A feed does not reset when another supervisor received facts of the shard
    NoResets,
    /// Results of every attempt count
    AcceptAnyResult,
    /// The cost of a result counts twice
    CountTwice,
    /// Workers do not see that a job ended or was canceled, and continue its work
    NeverUnwanted,
    /// Results that a rollback removed count for the work that replaces them
    CountOldResults,
    /// Results and questions of child jobs do not reach the parent
    ForgetParent,
    /// Child jobs are not canceled when the parent no longer needs them
    ForgetChildren,
    /// A fork lacks the last record before its starting point
    ShortFork,
}
