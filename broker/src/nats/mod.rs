//! The log and what stands beside it on NATS JetStream.
//!
//! Durable state: one stream per shard with the records of its jobs, one pinned consumer of its
//! facts and one consumer for each kind of command and pool; one stream for each key-value bucket,
//! and one for large values. Messages that are not kept are core NATS.
//!
//! It must never change a stream or a consumer that is there, never make an empty stream in place
//! of one that is gone, and never believe a reply that is not an acknowledgement.

mod ack;
mod bus;
mod commands;
mod connect;
mod discovery;
mod drift;
mod entry;
mod feed;
pub mod keys;
mod kv;
mod lane;
mod link;
mod load;
mod log;
mod objects;
mod options;
mod progress;
mod publish;
mod pull;
mod read;
mod removal;
mod reply;
mod rights;
mod scan;
mod serve;
mod setup;
mod tail;
#[cfg(test)]
mod tests;

pub(crate) use self::connect::authenticated;
pub use self::{
    connect::{ConnectError, SetUp, connect, connect_bus, set_up},
    drift::{Drift, drift},
    options::{Certificate, NatsOptions},
    reply::check_inbox,
    rights::{Right, Rights, Try},
};
