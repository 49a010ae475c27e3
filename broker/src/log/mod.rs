//! The log of jobs and its promises, independent of the broker that keeps it.
//!
//! Two implementations, [`crate::nats`] and [`crate::memory`], pass one contract test suite that
//! includes JetStream's nasty habits: a conflict reply may lie, a late acknowledgement is honoured,
//! a redelivery overtakes, a duplicate is not always noticed.

pub mod claim;
mod composed;
mod entry;
mod error;
mod load;
mod maintenance;
mod progress;
mod queues;
mod reader;
pub(crate) mod settle;
mod writer;

pub use self::{
    composed::Composed,
    entry::{Ack, Delivery},
    error::LogError,
    load::{QueueLoad, ShardLoad, Storage},
    maintenance::{Maintenance, ObjectRefs},
    progress::{Armed, Progress, Queue, Whereabouts},
    queues::{Depth, Feed, Queues},
    reader::Reader,
    writer::{CasOutcome, Submission, Writer},
};

/// The log of all jobs of an installation. Code that needs one part of it takes that part:
/// `&dyn Log` coerces to `&dyn Reader`.
pub trait Log: Reader + Writer + Queues + Maintenance {}

impl<T: Reader + Writer + Queues + Maintenance> Log for T {}
