//! A delivered record and its acknowledgement.

use async_trait::async_trait;
use proto::entry::Entry;
use tokio::sync::OwnedSemaphorePermit;

/// A delivered record. Dropping it without an acknowledgement causes a redelivery.
#[derive(Debug)]
pub struct Delivery {
    /// The decoded record, with its position in the log.
    pub entry: Entry,
    /// Number of deliveries, including this one. Above 1, an earlier worker may have died or may
    /// still be running.
    pub delivered: u64,
    /// The handle that acknowledges this delivery.
    pub ack: Box<dyn Ack>,
    /// The permit of a command's slot, released on drop; absent for facts.
    pub slot: Option<OwnedSemaphorePermit>,
}

/// The acknowledgement of a delivery. It never proves ownership: a late one is honoured too, and
/// results are fenced by attempt.
#[async_trait]
pub trait Ack: Send + Sync + std::fmt::Debug {
    /// Confirms that the work is done. A lost acknowledgement leads to a redelivery.
    async fn done(&self);
    /// Extends the delivery's deadline: the work is still running.
    async fn working(&self);
    /// Requests a redelivery after `wait`: this worker cannot do the work now.
    async fn later(&self, wait: std::time::Duration);
}
