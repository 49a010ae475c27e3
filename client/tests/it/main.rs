//! The client against a door that is told what to answer, and the documentation against both.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be set up fails, and says where"
)]

mod asking;
mod document;
mod scripted;
mod watching;
