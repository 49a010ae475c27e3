//! The planner with commands from a log, a model over HTTP, and facts in the log.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be set up fails, and says where"
)]

// The name of this crate in the other members of the workspace.
extern crate callboard_planner_actor as planner_actor;

mod fuzzing;
#[path = "../../../fuzz/src/mutations.rs"]
pub mod mutations;
#[path = "../../../fuzz/src/replies.rs"]
pub mod replies;
mod stage;
mod supervised;
mod tasks;
mod work;
