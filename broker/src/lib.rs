//! The durable log of jobs, the message bus, key-value buckets and the object store, on NATS
//! JetStream and in memory.
//!
//! Architecture invariants: this is the only crate that links `async-nats`. It knows no role, no
//! policy and no job state. Both implementations pass one contract test suite.

pub mod backoff;
pub mod bus;
pub mod clock;
mod connection;
pub mod inspect;
pub mod kv;
pub mod log;
pub mod memory;
pub mod nats;
pub mod nats_server;
pub mod objects;
pub mod testing;

pub use self::connection::Broker;
