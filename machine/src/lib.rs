//! The job machine: a pure fold of a job's log, and the decisions that follow from its state.
//!
//! Callers alternate between two methods:
//!
//! * [`Job::apply`] folds the next record of the log. Replay and live processing both use it, so
//!   recovery has no code path of its own.
//! * [`Job::decide`] returns the next decision that the state calls for and the log does not hold
//!   yet, or `None`. It is level-triggered: it depends on the state alone, never on the last
//!   record, so a crash between two writes needs no recovery code. The caller stores the decision,
//!   applies it and calls `decide` again.
//!
//! Architecture invariant: nothing in this crate is asynchronous, reads a clock, draws a random
//! number or does I/O. "Now" is the server's time of the last record.

mod anomaly;
mod arguments;
mod ask;
mod asking;
mod at;
mod attempts;
mod authorize;
mod budget;
mod call;
pub mod cancellation;
pub mod check;
mod clarify;
pub mod commands;
pub mod costs;
pub mod dead_letters;
mod decide;
mod dispatch;
mod done;
pub mod edits;
mod effects;
mod ending;
pub mod events;
mod excerpt;
mod failure;
mod family;
mod fold;
mod generation;
mod graph;
pub mod intent;
mod interleaved_planning;
mod kin_text;
mod loops;
mod names;
mod nodes;
mod outbox;
mod output;
mod planning;
pub mod preview;
mod progress;
mod questions;
mod replanning;
mod replay;
mod sent;
mod share;
mod simple_goals;
mod state;
mod step;
pub mod testing;
mod text;
pub mod timeline;
pub mod transcript;
mod transitions;
mod trust;
mod turn;
mod unreadable;
mod view;
mod visit_step;
mod waits;
mod why;

pub use self::{
    at::At,
    authorize::registry_refusal,
    decide::{Arm, Next},
    effects::{Effects, Repeated},
    failure::before_failure,
    graph::{EndedVisit, EventRefusal},
    outbox::Tell,
    questions::QuestionStatus,
    replay::{Replay, replay, rollback_target},
    state::EditRefusal,
    state::{Job, JobStatus, Poison, Wakeup},
    transitions::{QuestionState, States, Transition},
    waits::{GivenUp, OutageWait, Waits},
    why::{QueueState, Surroundings},
};

#[cfg(test)]
mod tests;
