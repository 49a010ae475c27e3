//! A delivered record.

use async_trait::async_trait;
use proto::entry::Entry;
use tokio::sync::OwnedSemaphorePermit;

/// A delivered record. Dropping it without an acknowledgement has it redelivered.
#[derive(Debug)]
pub struct Delivery {
    /// The record.
    pub entry: Entry,
    /// The number of deliveries, including this one. Above 1, an earlier worker may have died, or
    /// still running.
    pub delivered: u64,
    /// Its acknowledgement.
    pub ack: Box<dyn Ack>,
    /// The slot that a command occupies.
    pub slot: Option<OwnedSemaphorePermit>,
}

/// Acknowledges a delivery. An acknowledgement never proves ownership: a late one is honoured too,
/// and results are fenced by attempt.
#[async_trait]
pub trait Ack: Send + Sync + std::fmt::Debug {
    /// The work is done: no redelivery. A lost acknowledgement leads to a redelivery.
    async fn done(&self);
    /// The work goes on: the redelivery is postponed.
    async fn working(&self);
    /// The work cannot be done here now: asks for a redelivery after a wait.
    async fn later(&self, wait: std::time::Duration);
}
