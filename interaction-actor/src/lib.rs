//! The interaction actor: takes `do.ask`, keeps the inbox of open questions, and turns the first
//! valid answer of a person into a fact.
//!
//! Architecture invariants: the job's log alone says which questions are open and who answered
//! first; the inbox is a copy for people to look at, and mends itself. This crate never calls
//! another actor crate: they meet in subjects.

pub mod desk;
mod edit;
pub mod inbox;
pub mod ledger;
pub mod waiters;
pub mod work;

/// The role's name in `--roles` and in presence.
pub const ROLE: &str = "interaction";
