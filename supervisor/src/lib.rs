//! The actors that run the job machine on a log: the role that decides.
//!
//! Architecture invariant: this crate decides nothing by itself; the machine does. It never calls
//! another role's crate: they meet in subjects.

mod activation;
pub mod actors;
#[cfg(test)]
mod proof;
pub mod settings;
