//! The vocabulary of Callboard: what jobs, plans, steps, tools and questions are, and how they are
//! written down. Every other crate speaks these words; none of them adds its own.
//!
//! Architecture invariant: this crate is pure. It has no tokio, no NATS, no clock and no
//! randomness; what needs one of those takes the value as an argument.

pub mod id;
pub mod lang;
pub mod message;
pub mod tool;
