//! The interaction actor: takes `do.ask`, keeps the inbox of open questions, and turns the first
//! valid answer of a person into a fact.
//!
//! [`InteractionActor`] is a ractor actor. The pool parses a decision into an [`AskCommand`], starts
//! one actor for it and supervises that actor: a panic ends one command and no other.
//!
//! Architecture invariants: only the job's log defines which questions are open and who answered
//! first; the inbox is a copy for people to read, and repairs itself. This crate never calls
//! another actor crate: they communicate over subjects.

mod actor;
mod edit;
pub mod inbox;
pub mod inbox_service;
pub mod question_log;
pub mod restore;
mod work;

pub use self::actor::{AskCommand, InteractionActor, options};

/// Name of the role in `--roles` and in presence.
pub const ROLE: &str = "interaction";
