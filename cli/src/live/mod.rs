//! A watched job on a terminal.

pub(crate) mod progress;
pub(crate) mod screen;
