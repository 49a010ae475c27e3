//! The `callboard` program: commands, what they print, and the composition of the roles. It is a
//! client of the front door like any other; it never touches a job's log by itself.

mod answer;
mod args;
mod exit;
mod failure;
mod input;
mod live;
mod look;
mod output;
mod render;
pub mod roles;
mod text;

pub use exit::Exit;
