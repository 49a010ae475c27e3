//! The promises of a broker, tested on both; and tests of each alone.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "a test that cannot be set up fails, and says where"
)]

// The name under which the other members of the workspace know this crate.
extern crate callboard_broker as broker;

mod contract;
mod memory;
mod nats_only;
mod server;
