//! The contract of a broker, tested on both implementations, and tests of each implementation.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "a test that cannot be set up fails, and says where"
)]

// The name of this crate in the other members of the workspace.
extern crate callboard_broker as broker;

mod contract;
mod memory;
mod nats_only;
mod server;
