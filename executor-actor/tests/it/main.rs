//! The executor with commands from a log, a model over HTTP, and facts in the log.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails, and says where")]

// The name of this crate in the other members of the workspace.
extern crate callboard_executor_actor as executor_actor;

mod stage;
mod stating;
mod supervised;
mod work;
