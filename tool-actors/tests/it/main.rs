//! The tools from outside: the documentation's examples, the worker loop, the registry, and the
//! worker in Python.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "helpers of tests fail as tests do"
)]

mod docs;
mod nats;
mod python;
mod registry;
mod supervised;
mod support;
mod work;
