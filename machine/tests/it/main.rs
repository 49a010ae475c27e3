//! Recorded logs of real runs, compared with the job machine.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be set up fails, and says where"
)]

// The name under which other crates of the workspace know this crate.
extern crate callboard_machine as machine;

mod histories;
