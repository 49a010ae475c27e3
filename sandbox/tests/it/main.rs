//! Commands that try to get out of the sandbox, as every user that a worker may be.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be set up fails, and says where"
)]

mod bounds;
mod escapes;
mod place;
