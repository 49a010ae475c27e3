//! Bugs that the model can be given, to see that its claims find them. Each changes what somebody
//! does; the job machine itself is always the real one.

/// A planted bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plant {
    /// Decisions are stored whatever was decided meanwhile.
    NoCompareAndSet,
    /// A result counts for the attempt that is out, whichever it is of.
    AcceptAnyResult,
    /// A result of work that a roll-back has taken out counts for what is done in its place.
    CountOldResults,
    /// A supervisor takes a roll-back for something that changes nothing.
    DeafToRollBacks,
    /// A supervisor decides on the facts it was handed, and does not read the log.
    DecideBeforeReading,
    /// Timers are not armed.
    DropTimers,
    /// A supervisor that is handed a shard again trusts what it kept.
    NoResets,
    /// A supervisor takes whatever it finds at its position for its own.
    BelieveTheOccupant,
    /// Facts are acknowledged before what follows from them is decided.
    AckBeforeDeciding,
    /// Commands are acknowledged before they are carried out.
    AckBeforeWork,
    /// A worker begins without looking whether its command is still wanted.
    NeverLook,
}
