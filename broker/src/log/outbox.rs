//! Outboxes: the positions of the records that a webhook may have to tell somebody about.

use jiff::Timestamp;
use proto::{
    id::{JobId, Seq},
    subject::Family,
};
use tokio::sync::OwnedSemaphorePermit;

use super::Ack;

/// The position of a record, without its content. Dropping it without an acknowledgement causes a
/// redelivery.
#[derive(Debug)]
pub struct Posted {
    /// Job of the record.
    pub job: JobId,
    /// Position of the record.
    pub seq: Seq,
    /// Server time of the record.
    pub time: Timestamp,
    /// Family of the record.
    pub family: Family,
    /// Number of deliveries, including this one.
    pub delivered: u64,
    /// The handle that acknowledges this delivery.
    pub ack: Box<dyn Ack>,
    /// The permit of the delivery's slot, released on drop.
    pub slot: Option<OwnedSemaphorePermit>,
}

/// The state of an outbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutboxState {
    /// `true` if it is switched off: nothing is delivered.
    pub is_off: bool,
    /// Records that were never delivered.
    pub pending: u64,
    /// Records that are delivered, or wait for another try.
    pub unsettled: u64,
    /// Of those, records that were delivered more than once.
    pub repeated: u64,
}
