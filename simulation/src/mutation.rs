//! Bugs that can be planted without a change to the tested code. The simulated broker deceives the
//! processes in a way that has the same effect on the log as the bug. Each shows that the
//! simulation finds its kind of bug.

use clap::ValueEnum;

/// A planted bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mutation {
    /// Decisions are stored whatever was decided meanwhile: no compare-and-set.
    NoCompareAndSet,
    /// Timers are armed and never fire.
    DropTimers,
    /// A job's log is read once by each process, and never again: decisions are made before reading.
    DecideBeforeReading,
    /// Commands are acknowledged before they are carried out.
    AckBeforeWork,
    /// Facts are acknowledged before what follows from them is decided.
    AckBeforeDeciding,
    /// A `once` tool does not see who began its run before.
    BlindIntents,
    /// Nobody tells another supervisor that the facts of a shard were handed to somebody else.
    NoResets,
    /// Results count whatever attempt they are of.
    AcceptAnyResult,
    /// What a result cost is counted twice.
    CountTwice,
    /// Work on a job goes on after its end: no worker ever sees that it has ended or is to.
    NeverUnwanted,
    /// Results of work that a roll-back has taken out count for what is done in its place.
    CountOldResults,
    /// Nobody tells a job what came of those that work for it, nor what they ask.
    ForgetParent,
    /// Nobody tells the jobs that work for a job that nobody waits for them any more.
    ForgetChildren,
    /// A fork lacks the last record before the point from which it goes on.
    ShortFork,
}
