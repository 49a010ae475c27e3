//! A record in the hands of a worker.

use async_trait::async_trait;
use proto::entry::Entry;
use tokio::sync::OwnedSemaphorePermit;

/// A record that was handed out. Dropping it without acknowledging has it handed out again.
#[derive(Debug)]
pub struct Delivery {
    /// The record.
    pub entry: Entry,
    /// How often it has been handed out, this time included. Above 1 the worker before may have
    /// died, or may still be running.
    pub delivered: u64,
    /// Says what became of it.
    pub ack: Box<dyn Ack>,
    /// The slot it takes, for commands.
    pub slot: Option<OwnedSemaphorePermit>,
}

/// Says what became of a delivery. An acknowledgement is never proof of ownership: a late one is
/// honoured too, and results are fenced by attempt.
#[async_trait]
pub trait Ack: Send + Sync + std::fmt::Debug {
    /// It is done and must not be handed out again. May get lost: then it is.
    async fn done(&self);
    /// It is still being worked on.
    async fn working(&self);
    /// It cannot be done here now; hand it out again after a while.
    async fn later(&self, wait: std::time::Duration);
}
