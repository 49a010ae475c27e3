//! The log, the bus, key-value buckets and the object store on NATS JetStream.
//!
//! Durable state: one stream per shard with the records of its jobs, one pinned consumer of its
//! facts and one consumer for each kind of command and pool; one stream for each key-value bucket,
//! and one for large values. Ephemeral messages are core NATS.
//!
//! It must never change an existing stream or consumer, never recreate a lost stream of jobs or
//! large values empty, and never trust a reply that is not an acknowledgement.

mod ack;
mod bus;
mod commands;
mod connect;
mod discovery;
mod drift;
mod entry;
mod feed;
mod installation;
mod job_log;
pub mod keys;
mod kv;
mod lane;
mod link;
mod load;
mod log;
mod mark;
mod milestones;
mod objects;
mod options;
mod outbox;
mod probe;
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
mod unmoved;
mod words;

pub(crate) use self::connect::authenticated;
pub use self::{
    connect::{
        ConnectError, LostBuckets, OldRecords, SetUp, connect, connect_bus, connect_client, set_up,
    },
    drift::{Asset, Drift, drift},
    options::{Certificate, NatsOptions},
    outbox::{outbox_states, set_up_outboxes, switch_outbox},
    probe::probe,
    reply::{InvalidInbox, check_inbox},
    rights::{Right, Rights, Try},
};
