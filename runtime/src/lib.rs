//! The shell under every Callboard process: the actor tree, the worker pool, the service loop,
//! telemetry, the admin listener and the configuration.
//!
//! Architecture invariant: it knows no role, no policy and no job state.

pub mod actor;
pub mod admin;
pub mod arguments;
pub mod config;
pub mod conversations;
pub mod egress;
pub mod http;
pub mod nats;
pub mod observed;
pub mod people;
pub mod presence;
pub mod registry;
pub mod schema;
pub mod service;
pub mod sessions;
pub mod shutdown;
pub mod telemetry;
pub mod testing;
pub mod worker;
