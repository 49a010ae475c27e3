//! The planner: answers `do.plan`. A goal becomes a plan, a question or an error.
//!
//! Architecture invariants: one command is one question to the model, and a reply that cannot be
//! used is told to the job, never asked again in secret; a plan is accepted only whole; nothing is
//! kept between commands. Everything but the call to the model is pure.

mod conversation;
mod course;
mod detect;
mod parse;
mod prompt;
mod protocol;
mod reply;
mod start;
mod summary;
mod words;
mod work;

pub use self::{
    start::{Setup, options, start},
    work::{Planner, ROLE},
};

#[cfg(test)]
mod normalise;
#[cfg(test)]
mod testing;
