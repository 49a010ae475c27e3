//! The MCP client against scripted servers: a program that misbehaves on demand, and an HTTP server.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod calls;
mod conformance;
mod eras;
mod http;
mod lists;
mod reference;
mod stage;
