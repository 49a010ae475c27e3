//! Bugs that are planted into the model to show that its claims find them. The job machine and the
//! activation are always the real ones: a mutation changes an outcome, a message, or the order in
//! which the driver carries out effects.

/// A planted bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mutation {
    /// The broker stores every decision, whatever position its writer expects.
    NoCompareAndSet,
    /// The broker starts the log of a child again with every submission.
    SubmitUnguarded,
    /// A supervisor takes any decision at its position for its own.
    BelieveTheOccupant,
    /// A supervisor that receives a shard again trusts its old fold.
    NoResets,
    /// A supervisor decides on the delivered facts alone, without reading the log.
    DecideBeforeReading,
    /// A supervisor ignores a rollback.
    DeafToRollbacks,
    /// A supervisor ignores a cancellation.
    DeafToCancels,
    /// Timers are never armed.
    DropTimers,
    /// Facts are acknowledged before the decisions that follow from them are stored.
    AckBeforeDeciding,
    /// Timers are armed after the decision that needs them.
    ArmAfterStoring,
    /// Messages to other jobs are sent after the note about them.
    TellAfterStoring,
    /// A child is submitted before the decision to spawn it is stored.
    SubmitFirst,
    /// Children are not told that their parent no longer waits for them.
    ForgetChildren,
    /// A parent is not told how its child ended.
    ForgetParent,
    /// A parent is told another end than the one that is stored.
    TellAnotherEnd,
    /// A result counts for the current attempt, whichever attempt it names.
    AcceptAnyResult,
    /// A result of work that a rollback removed counts for the work in its place.
    CountOldResults,
    /// Commands are acknowledged before they are carried out.
    AckBeforeWork,
    /// A worker starts without reading whether its command is still wanted.
    NeverCheck,
    /// A supervisor takes redelivered facts for new ones, and carries out their work again.
    RunAgain,
    /// A supervisor decides on further work without the work that it has carried out.
    RepeatUnit,
    /// A supervisor carries out a call with an effect itself.
    RunEffects,
    /// The join of a workflow does not wait for its second branch.
    JoinEarly,
    /// The broker stores the advance of a workflow twice.
    AdvanceTwice,
}
