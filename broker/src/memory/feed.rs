//! The feed of a shard's facts, for the holder of the pin, and acknowledgements.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures::stream::BoxStream;
use proto::id::Shard;
use tokio::time::Instant;

use super::{
    log::MemoryLog,
    queue::{Queue, QueueKey},
    state::Shared,
    stream::Message,
};
use crate::log::{Ack, Delivery, Feed, LogError};

/// Interval at which a broker that is down is polled.
pub(super) const DOWN: Duration = Duration::from_millis(100);
/// Delay before a record whose body could not be fetched is redelivered.
const BODY_AWAY: Duration = Duration::from_secs(1);

/// Source of feed ids.
static FEEDS: AtomicU64 = AtomicU64::new(0);

pub(super) fn open(log: MemoryLog, shard: Shard) -> BoxStream<'static, Result<Feed, LogError>> {
    Box::pin(async_stream::stream! {
        let place = QueuePosition::open(&log.shared, shard);
        let wake = Arc::clone(&log.shared.lock().queue(place.key.clone()).wake);
        let mut epoch = None;
        loop {
            // Registers before the checks below, so that no notification is lost.
            let changed = wake.notified();
            match place.next(&mut epoch) {
                Next::Reset => yield Ok(Feed::Reset),
                Next::Message(message, delivered) => {
                    yield deliver(&log, &place.key, &message, delivered).await.map(Feed::Fact);
                }
                Next::Wait(Some(due)) => _ = tokio::time::timeout_at(due, changed).await,
                Next::Wait(None) => changed.await,
            }
        }
    })
}

/// A feed's registration with the queue of its shard; removed on drop.
struct QueuePosition {
    shared: Arc<Shared>,
    key: QueueKey,
    id: u64,
}

enum Next {
    Reset,
    Message(Arc<Message>, u64),
    Wait(Option<Instant>),
}

impl QueuePosition {
    fn open(shared: &Arc<Shared>, shard: Shard) -> Self {
        let (key, id) = (QueueKey::Facts(shard), FEEDS.fetch_add(1, Ordering::Relaxed));
        shared.lock().queue(key.clone()).open_feed(id);
        Self { shared: Arc::clone(shared), key, id }
    }

    fn next(&self, seen: &mut Option<u64>) -> Next {
        let faults = &self.shared.options.faults;
        if faults.is_down() {
            return Next::Wait(Some(Instant::now() + DOWN));
        }
        let mut state = self.shared.lock();
        let queue = state.queue(self.key.clone());
        let Some(epoch) = queue.pinned(self.id) else { return Next::Wait(None) };
        if seen.replace(epoch) != Some(epoch) {
            return Next::Reset;
        }
        match take(queue, &self.shared) {
            Some((message, delivered)) => Next::Message(message, delivered),
            None => Next::Wait(queue.next_due()),
        }
    }
}

impl Drop for QueuePosition {
    fn drop(&mut self) {
        self.shared.lock().queue(self.key.clone()).close_feed(self.id);
    }
}

/// Takes the next message from a queue, subject to injected faults.
pub(super) fn take(queue: &mut Queue, shared: &Shared) -> Option<(Arc<Message>, u64)> {
    let (faults, now) = (&shared.options.faults, Instant::now());
    if !queue.is_ready(now) {
        return None;
    }
    let taken = queue.take(now, faults.take_reorder())?;
    if faults.take_duplicate() {
        queue.echo(&taken.0, taken.1);
    }
    Some(taken)
}

/// Builds a delivery. Requeues the message if its body cannot be fetched.
pub(super) async fn deliver(
    log: &MemoryLog,
    key: &QueueKey,
    message: &Message,
    delivered: u64,
) -> Result<Delivery, LogError> {
    let ack =
        MemoryAck { shared: Arc::clone(&log.shared), key: key.clone(), ticket: message.ticket };
    match log.entry(message).await {
        Ok(entry) => Ok(Delivery { entry, delivered, ack: Box::new(ack), slot: None }),
        Err(error) => {
            ack.later(BODY_AWAY).await;
            Err(error)
        }
    }
}

/// Returns the handle that acknowledges a delivery.
pub(super) fn ack(log: &MemoryLog, key: &QueueKey, message: &Message) -> Box<dyn Ack> {
    Box::new(MemoryAck {
        shared: Arc::clone(&log.shared),
        key: key.clone(),
        ticket: message.ticket,
    })
}

/// Acknowledges a delivery.
#[derive(Debug)]
struct MemoryAck {
    shared: Arc<Shared>,
    key: QueueKey,
    ticket: u64,
}

impl MemoryAck {
    fn on_queue(&self, change: impl FnOnce(&mut Queue)) {
        // A broker that is down loses the acknowledgement silently.
        if !self.shared.options.faults.is_down() {
            change(self.shared.lock().queue(self.key.clone()));
        }
    }
}

#[async_trait]
impl Ack for MemoryAck {
    async fn done(&self) {
        if !self.shared.options.faults.take_lost_ack() {
            self.on_queue(|queue| queue.done(self.ticket));
        }
    }

    async fn working(&self) {
        self.on_queue(|queue| queue.working(self.ticket, Instant::now()));
    }

    async fn later(&self, wait: Duration) {
        self.on_queue(|queue| queue.later(self.ticket, Instant::now() + wait));
    }
}
