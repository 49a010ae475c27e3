//! The watch of a job: its known state and its display.

pub(crate) mod follow;
pub(crate) mod progress;
pub(crate) mod screen;

#[cfg(test)]
mod properties;
