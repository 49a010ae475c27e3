//! Recorded logs of real runs, held against the job machine.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be set up fails, and says where"
)]

// The name under which the other members of the workspace know this crate.
extern crate callboard_machine as machine;

mod histories;
