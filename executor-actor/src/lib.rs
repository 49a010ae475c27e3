//! The executor: answers `do.turn`, one model turn of one step.
//!
//! Architecture invariants: one command is one question to the model; no tool is called and no
//! person is waited for here, both are commands of their own; nothing is kept between commands, the
//! conversation is read back from the job's log. Everything but that and the call to the model is
//! pure.

mod offer;
mod outline;
mod prompt;
mod resolve;
mod start;
mod summary;
mod transcript;
mod words;
mod work;

pub use self::{
    start::{Setup, options, start},
    work::{Executor, ROLE},
};

#[cfg(test)]
mod testing;
