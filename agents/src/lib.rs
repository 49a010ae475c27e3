//! The language of agents: files in YAML, the policies that conflict, the tools and arguments that an
//! agent allows, and the plans that are drafted under it. The agents that come with the program lie
//! beside this code.
//!
//! Architecture invariant: this crate is pure, as the vocabulary is whose [`proto::agent::Agent`] it
//! reads. It has no file system, no clock and no randomness.

pub mod argument_rules;
pub mod catalogue;
pub mod conflicts;
pub mod draft;
pub mod placeholder;
pub mod preset;
pub mod price;
pub mod source;
pub mod toolbox;
pub mod words;
pub mod workflow;
