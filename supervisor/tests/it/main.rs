//! The supervisor on a log: its actors, and the front door.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be set up fails, and says where"
)]

mod actors;
mod company;
mod counting;
mod door;
mod histories;
mod logging;
