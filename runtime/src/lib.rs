//! The shell under every Callboard actor: the log and the bus (on NATS JetStream, and in memory),
//! key-value and object storage, configuration, telemetry, the worker loop.
//!
//! Architecture invariants: this is the only crate that links `async-nats`; it knows no role, no
//! policy and no job state, only how to store, deliver and ask.

pub mod actor;
pub mod admin;
pub mod arguments;
pub mod config;
pub mod observed;
pub mod people;
pub mod presence;
pub mod registry;
pub mod schema;
pub mod service;
pub mod shutdown;
pub mod telemetry;
pub mod worker;
