//! Providers and the scripted model, over real HTTP on this machine.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be set up fails, and says where"
)]

// The name of this crate in the other members of the workspace.
extern crate callboard_model as model;

mod deviating;
mod document;
mod endless;
mod falling_back;
mod native;
mod native_deviating;
mod observed;
mod openai;
mod reasoning;
mod scripted;
mod secrets;
mod structured;
mod support;
