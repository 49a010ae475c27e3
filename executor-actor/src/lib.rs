//! The executor: answers `do.turn`, one model turn of one step.
//!
//! [`ExecutorActor`] is a ractor actor. The pool parses a decision into a [`TurnCommand`], starts one
//! actor for it and supervises that actor: a panic ends one turn and no other.
//!
//! Architecture invariants: one command is one model call. The executor calls no tool and waits for
//! no person: both are separate commands. It keeps nothing between commands, and rebuilds the
//! conversation from the job's log. Everything except that read and the model call is pure.

mod actor;
mod offer;
mod outline;
mod output;
mod prompt;
mod resolve;
mod summary;
mod transcript;
mod words;
mod work;

pub use self::actor::{ExecutorActor, ROLE, TurnCommand, options};

#[cfg(test)]
mod testing;
