//! Bugs that the model can be given, to see that its claims find them. The job machine and the
//! activation are always the real ones: a mutation changes an outcome, a message, or the order in which
//! the driver carries effects out.

/// A planted bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mutation {
    /// The broker stores every decision, whatever its writer knew.
    NoCompareAndSet,
    /// The broker begins the log of a child again with every submission.
    SubmitUnguarded,
    /// A supervisor takes any decision at its position for its own.
    BelieveTheOccupant,
    /// A supervisor that receives a shard again trusts its old fold.
    NoResets,
    /// A supervisor decides on the delivered facts, and does not read the log.
    DecideBeforeReading,
    /// A supervisor ignores a rollback.
    DeafToRollbacks,
    /// Timers are not armed.
    DropTimers,
    /// Facts are acknowledged before the decisions that follow from them.
    AckBeforeDeciding,
    /// Timers are armed after the decision that needs them.
    ArmAfterStoring,
    /// Messages to other jobs are sent after the note about them.
    TellAfterStoring,
    /// A child is submitted before the decision to have it is stored.
    SubmitFirst,
    /// Children do not hear that their parent no longer waits for them.
    ForgetChildren,
    /// A parent does not hear how its child ended.
    ForgetParent,
    /// A parent hears of another end than the one that is stored.
    TellAnotherEnd,
    /// A result counts for the current attempt, whichever it is of.
    AcceptAnyResult,
    /// A result of work that a rollback took out counts for the work in its place.
    CountOldResults,
    /// Commands are acknowledged before they are carried out.
    AckBeforeWork,
    /// A worker begins without reading whether its command is still wanted.
    NeverCheck,
}
