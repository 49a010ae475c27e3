//! The planner: answers `do.plan`. A goal becomes a plan, a question or an error.
//!
//! [`PlannerActor`] is a ractor actor. The pool parses a decision into a [`PlanCommand`], starts one
//! actor for it and supervises that actor: a panic ends one plan and no other.
//!
//! Architecture invariants: one command is one question to the model; a reply that cannot be used is
//! reported to the job, and the model is never asked again in secret; a plan is accepted only whole;
//! nothing is kept between commands. Everything but the call to the model is pure.

mod actor;
mod conversation;
mod course;
mod detect;
mod parse;
mod prompt;
mod protocol;
mod reply;
mod summary;
mod words;
mod work;

pub use self::actor::{PlanCommand, PlannerActor, ROLE, options};

#[cfg(test)]
mod normalise;
#[cfg(test)]
mod testing;
