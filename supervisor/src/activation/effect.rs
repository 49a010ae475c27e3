//! The effects of an activation and their outcomes.

use std::time::Duration;

use machine::{Arm, Next};
use proto::{
    decision::{CallWork, Decision},
    entry::Entry,
    fact::{Fact, Submitted},
    family::Parent,
    id::{JobId, Seq, TimerName},
    work_error::WorkError,
};

use super::Intake;

/// An effect that a driver carries out. Its outcome is [`Outcome::Done`] unless another is named.
#[derive(Debug)]
pub(crate) enum Effect<'a> {
    /// The activation is over; no outcome follows.
    Rest,
    /// Read the whole log. Outcome: [`Outcome::Read`].
    Read,
    /// Count the changes that the facts made, for metrics.
    Count(&'a Intake),
    /// Compare a call with the tool registry. Outcome: [`Outcome::Compared`].
    Compare(&'a CallWork),
    /// Arm a timer.
    Arm(&'a Arm),
    /// Start the log of a child. Outcome: done, or [`Outcome::Occupied`] if the log exists.
    Submit {
        /// Id of the child.
        child: &'a JobId,
        /// Submission of the child.
        submitted: &'a Submitted,
    },
    /// Append a fact to a job's log.
    Append {
        /// Job whose log takes the fact.
        to: &'a JobId,
        /// Fact to append.
        fact: &'a Fact,
    },
    /// Carry a command out in this process, if it can. Outcome: [`Outcome::Ran`].
    Run(&'a Decision),
    /// Store a decision by compare-and-set; the same write cancels the first timer of
    /// `next.disarm`. Outcome: [`Outcome::Stored`] or [`Outcome::Conflict`].
    Store {
        /// Decision with its timers.
        next: &'a Next,
        /// Position of the last decision that the writer knows, which the write expects.
        after: Seq,
    },
    /// Cancel a timer. A failure is harmless.
    Disarm(&'a TimerName),
    /// Tell workers that work of this job is no longer wanted. A failure is harmless.
    StopWork,
    /// Acknowledge the facts of this activation.
    Acknowledge,
    /// Call [`super::Activation::give_up`]; no outcome follows.
    GiveUp(GivenUp),
}

/// The word of the tool registry on a call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Compared {
    /// Reason for which the registry refuses the call, if it does.
    pub(crate) refused: Option<WorkError>,
    /// `true` if results of the tool hold content from outside, whatever the planner saw.
    pub(crate) untrusted: bool,
}

/// The result of a command that this process carried out.
#[derive(Debug, Clone)]
pub(crate) struct Ran {
    /// Fact that answers the command.
    pub(crate) fact: Fact,
    /// Time that the work took.
    pub(crate) took: Duration,
}

/// The outcome of an effect.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The effect was carried out.
    Done,
    /// The entries of the whole log.
    Read(Vec<Entry>),
    /// The registry's word on the call.
    Compared(Compared),
    /// The result of the command; `None` if a worker is to take it from the queue.
    Ran(Option<Box<Ran>>),
    /// The log already exists, with this parent in its submission.
    Occupied(Option<Parent>),
    /// The decision is stored at this position.
    Stored(Seq),
    /// Another decision has been stored since the expected one.
    Conflict,
}

/// The reason for which an activation cannot continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GivenUp {
    /// Too many consecutive conflicts.
    #[error("another supervisor keeps writing decisions for this job")]
    Contended,
    /// Too many decisions in one activation.
    #[error("the job needs more than {} decisions in one activation", super::DECISIONS_MAX)]
    Runaway,
    /// The driver passed an outcome that the effect cannot have.
    #[error("the outcome does not belong to the effect")]
    Misled,
}
