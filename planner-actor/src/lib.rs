//! The planner: answers `do.plan`. A goal becomes a plan, a question or an error.
//!
//! [`PlannerActor`] is a ractor actor. The pool parses a decision into a [`PlanCommand`], starts one
//! actor for it and supervises that actor: a panic ends one plan and no other.
//!
//! Architecture invariants: one command is one model call, plus at most one for detection. An
//! unusable reply is reported to the job, and never repaired by a hidden model call. A plan is
//! accepted whole or not at all. Nothing is kept between commands. Everything but the model calls
//! and the read of the task list is pure.

mod actor;
mod conversation;
mod course;
mod detect;
mod parse;
mod prompt;
mod protocol;
mod reply;
mod summary;
mod tasks;
mod words;
mod work;

pub use self::{
    actor::{PlanCommand, PlannerActor, ROLE, options},
    reply::{Understood, understand},
};

#[cfg(test)]
mod normalise;
#[cfg(test)]
mod testing;
