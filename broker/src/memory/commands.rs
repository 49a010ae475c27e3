//! Commands of one kind for one pool: no more are taken than there are slots.

use std::sync::Arc;

use futures::stream::BoxStream;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use super::{feed, log::MemoryLog, queue::QueueKey, state::Shared, stream::Message};
use crate::log::{Delivery, LogError};

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

/// The next command and a slot for it; none when there will be no more slots. No slot is held while
/// there is nothing to do, so that several kinds of command can share them.
async fn next(
    shared: &Shared,
    key: &QueueKey,
    slots: &Arc<Semaphore>,
) -> Option<(Arc<Message>, u64, OwnedSemaphorePermit)> {
    let wake = Arc::clone(&shared.lock().queue(key.clone()).wake);
    loop {
        // Notifications are kept from here on, before the wait begins.
        let changed = wake.notified();
        let due = if shared.options.faults.is_down() {
            Some(Instant::now() + feed::DOWN)
        } else if shared.lock().queue(key.clone()).is_ready(Instant::now()) {
            let slot = Arc::clone(slots).acquire_owned().await.ok()?;
            // Somebody else may have been faster while this one waited for a slot.
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
