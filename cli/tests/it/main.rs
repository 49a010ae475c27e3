//! The program as people and scripts meet it: the built binary, its output and its exit codes.

mod arguments;
mod company;
mod configuration;
mod door;
mod support;
