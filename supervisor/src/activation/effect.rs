//! The effects of an activation, and their outcomes.

use machine::{Arm, Next};
use proto::{
    decision::CallWork,
    entry::Entry,
    fact::{Fact, Submitted, WorkError},
    family::Parent,
    id::{JobId, Seq, TimerName},
};

use super::Intake;

/// Something that a driver carries out. Unless an effect names another outcome, it is [`Outcome::Done`].
#[derive(Debug)]
pub(crate) enum Effect<'a> {
    /// The activation is over. No outcome follows.
    Rest,
    /// Read the whole log: [`Outcome::Read`].
    Read,
    /// Count the changes that the facts made.
    Count(&'a Intake),
    /// Compare a call with the tool registry: [`Outcome::Compared`].
    Compare(&'a CallWork),
    /// Arm a timer.
    Arm(&'a Arm),
    /// Begin the log of a child: done, or [`Outcome::Occupied`].
    Submit {
        /// The child.
        child: &'a JobId,
        /// Its first record.
        submitted: &'a Submitted,
    },
    /// Append a fact to the log of a job.
    Append {
        /// The job.
        to: &'a JobId,
        /// The fact.
        fact: &'a Fact,
    },
    /// Store a decision by compare-and-set, and cancel the first timer of `next.disarm` in the same
    /// write: [`Outcome::Stored`] or [`Outcome::Conflict`].
    Store {
        /// The decision.
        next: &'a Next,
        /// The last decision that its writer knows.
        after: Seq,
    },
    /// Cancel a timer. This may fail.
    Disarm(&'a TimerName),
    /// Tell workers that work of this job is no longer wanted. This may fail.
    StopWork,
    /// Acknowledge the facts of this activation.
    Acknowledge,
    /// Give up: no outcome follows but [`super::Activation::give_up`].
    GiveUp(GivenUp),
}

/// The outcome of an effect.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It is carried out.
    Done,
    /// The whole log.
    Read(Vec<Entry>),
    /// The reason why the call is refused, if it is.
    Compared(Option<WorkError>),
    /// The log had begun before, for this parent.
    Occupied(Option<Parent>),
    /// The decision is stored, at this position.
    Stored(Seq),
    /// Another decision is stored at its position.
    Conflict,
}

/// The reason why an activation cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GivenUp {
    /// Every write is a conflict.
    #[error("another supervisor keeps writing decisions for this job")]
    Contended,
    /// The job does not converge.
    #[error("the job needs more than {} decisions in one activation", super::DECISIONS_MAX)]
    Runaway,
    /// The driver gave an outcome of another effect.
    #[error("the outcome does not belong to the effect")]
    Misled,
}
