//! The program as users and scripts see it: the built binary, its output and its exit codes.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be set up fails, and says where"
)]

mod arguments;
mod company;
mod completion;
mod configuration;
mod doctor;
mod door;
mod line_editor;
mod screens;
mod support;
mod terminal;
mod tmux;
mod worker;
