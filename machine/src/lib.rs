//! The job machine: what a job's log says, and what should follow.
//!
//! Two families of method, used in turn:
//!
//! * [`Job::apply`] takes the next record of the log. Live or replayed, there is no other way in:
//!   recovery is the live path.
//! * [`Job::decide`] gives the next decision that should exist and does not yet, or nothing. It is
//!   level-triggered: it looks at what the job *is*, never at what just happened, so a crash between
//!   any two writes needs no code of its own. Store the decision, apply it, ask again.
//!
//! Architecture invariant: nothing here is asynchronous, reads a clock, draws a random number or
//! does I/O. Time is the server's time of the last record.

mod anomaly;
mod arguments;
mod ask;
mod at;
mod attempts;
mod authorize;
mod budget;
mod call;
pub mod cancellation;
pub mod check;
mod clarify;
pub mod commands;
pub mod dead_letters;
mod decide;
mod dispatch;
pub mod edits;
mod effects;
mod ending;
pub mod events;
mod excerpt;
mod family;
mod fold;
mod generation;
pub mod intent;
mod interleaved_planning;
mod kin_text;
mod loops;
mod names;
mod outbox;
mod planning;
mod progress;
mod questions;
mod replanning;
mod replay;
mod share;
mod state;
mod step;
pub mod testing;
mod text;
pub mod timeline;
pub mod transcript;
mod turn;
mod view;
mod waits;

pub use self::{
    at::At,
    authorize::registry_refusal,
    decide::{Arm, Next},
    effects::{Effects, Repeated},
    outbox::Tell,
    questions::QuestionStatus,
    replay::{Replay, replay, rollback_target},
    state::{Awake, Job, Poison, Standing},
    waits::{GivenUp, Waits},
};

#[cfg(test)]
mod tests;
