//! The executor at work: commands from a log, a model over HTTP, facts in the log.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails, and says where")]

// The name under which the other members of the workspace know this crate.
extern crate callboard_executor_actor as executor_actor;

mod stage;
mod supervised;
mod work;
