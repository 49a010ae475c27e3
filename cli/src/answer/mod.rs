//! Answering a question at a terminal: what is typed, made into what was asked for.

pub(crate) mod dialogue;
pub(crate) mod keyboard;
pub(crate) mod prompt;
