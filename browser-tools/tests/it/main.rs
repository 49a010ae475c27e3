//! The browser on a real Chromium, against servers of this machine.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be set up fails, and says where"
)]

mod flows;
mod hosted;
mod isolation;
mod lifecycle;
mod site;
mod stage;
