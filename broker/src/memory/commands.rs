//! The commands of one kind for one pool, or the records of an outbox, within the limit of slots.

use std::sync::Arc;

use futures::stream::BoxStream;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use super::{feed, log::MemoryLog, queue::QueueKey, state::Shared, stream::Message};
use crate::log::{Delivery, LogError, Posted};

pub(super) fn open(
    log: MemoryLog,
    key: QueueKey,
    slots: Arc<Semaphore>,
) -> BoxStream<'static, Result<Delivery, LogError>> {
    Box::pin(async_stream::stream! {
        while let Some((message, delivered, slot)) = next(&log.shared, &key, &slots).await {
            let delivery = feed::deliver(&log, &key, &message, delivered).await;
            yield delivery.map(|delivery| Delivery { slot: Some(slot), ..delivery });
        }
    })
}

/// Opens an outbox.
pub(super) fn outbox(
    log: MemoryLog,
    key: QueueKey,
    slots: Arc<Semaphore>,
) -> BoxStream<'static, Result<Posted, LogError>> {
    Box::pin(async_stream::stream! {
        while let Some((message, delivered, slot)) = next(&log.shared, &key, &slots).await {
            yield Ok(Posted {
                job: message.job.clone(),
                seq: message.seq,
                time: message.time,
                family: message.family.clone(),
                delivered,
                ack: feed::ack(&log, &key, &message),
                slot: Some(slot),
            });
        }
    })
}

/// Waits for the next command and a slot for it; `None` once the slots are closed. Holds no slot
/// while the queue is empty, so that several kinds of command can share the slots.
async fn next(
    shared: &Shared,
    key: &QueueKey,
    slots: &Arc<Semaphore>,
) -> Option<(Arc<Message>, u64, OwnedSemaphorePermit)> {
    let wake = Arc::clone(&shared.lock().queue(key.clone()).wake);
    loop {
        // Registers before the checks below, so that no notification is lost.
        let changed = wake.notified();
        let due = if shared.options.faults.is_down() {
            Some(Instant::now() + feed::DOWN)
        } else if shared.lock().queue(key.clone()).is_ready(Instant::now()) {
            let slot = Arc::clone(slots).acquire_owned().await.ok()?;
            // Another task may have taken the command while this one waited for a slot.
            let taken = feed::take(shared.lock().queue(key.clone()), shared);
            match taken {
                Some((message, delivered)) => return Some((message, delivered, slot)),
                None => continue,
            }
        } else {
            shared.lock().queue(key.clone()).next_due()
        };
        match due {
            Some(due) => _ = tokio::time::timeout_at(due, changed).await,
            None => changed.await,
        }
    }
}
