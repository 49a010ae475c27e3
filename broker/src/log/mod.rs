//! The log of jobs and its promises, independent of the broker.
//!
//! Two implementations, [`crate::nats`] and [`crate::memory`], pass one contract test suite that
//! includes JetStream's pitfalls: a conflict reply may be wrong, a late acknowledgement is
//! honoured, a redelivery overtakes later messages, a duplicate is not always detected.

pub mod claim;
mod composed;
mod entry;
mod error;
mod load;
mod maintenance;
mod outbox;
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
    outbox::{OutboxState, Posted},
    progress::{Armed, Progress, Queue, Whereabouts},
    queues::{Depth, Feed, Queues},
    reader::{Latest, Milestone, Milestones, Passed, Reader, ShardState},
    writer::{CasOutcome, Submission, Writer},
};

/// The log of all jobs of an installation. Code that needs one part of the log takes that part:
/// `&dyn Log` coerces to `&dyn Reader`.
pub trait Log: Reader + Writer + Queues + Maintenance {}

impl<T: Reader + Writer + Queues + Maintenance> Log for T {}
