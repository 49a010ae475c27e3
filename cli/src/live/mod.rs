//! Watching a job: what is known of it so far, and how that is kept in front of somebody.

pub(crate) mod follow;
pub(crate) mod progress;
pub(crate) mod screen;

#[cfg(test)]
mod properties;
