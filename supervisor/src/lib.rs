//! The supervisor: the pure job machine, and the actors that run it on a log.
//!
//! Architecture invariant: `machine/` is pure; everything that waits, stores or sends is outside
//! it. This crate never calls another actor crate: they meet in subjects.

pub mod actors;
pub mod door;
pub mod fsck;
pub mod purge;
