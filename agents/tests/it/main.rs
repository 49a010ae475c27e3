//! Drafts of plans hold their laws for any plan. And whatever is read from outside is refused or sound.

#![expect(clippy::unwrap_used, reason = "a sample that cannot be read fails, and says which")]

// The name under which the other members of the workspace know this crate.
extern crate callboard_agents as agents;

mod fuzzing;
#[path = "../../../fuzz/src/mutations.rs"]
pub mod mutations;
mod properties;
#[path = "../../../fuzz/src/lib.rs"]
pub mod targets;
