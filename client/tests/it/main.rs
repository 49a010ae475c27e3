//! Tests of the client against a scripted door, and of the documentation against both.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be set up fails, and says where"
)]

mod asking;
mod document;
mod scripted;
mod watching;
