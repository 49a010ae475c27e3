//! The supervisor role: actors that run the job machine on the log.
//!
//! Architecture invariant: this crate makes no decision of its own; the machine decides. It depends
//! on no other role's crate: roles meet only in subjects.

mod activation;
pub mod actors;
#[cfg(test)]
mod proof;
pub mod settings;
