//! Answering of questions at a terminal: from typed lines to answers.

pub(crate) mod dialogue;
pub(crate) mod keyboard;
pub(crate) mod prompt;
