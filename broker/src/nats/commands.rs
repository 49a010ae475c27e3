//! The commands of one kind for one pool, or the records of an outbox, pulled from the consumers of
//! all shards within the limit of slots. What is said of commands holds for both.
//!
//! A slot is reserved before a command is requested, and released if none arrives. With more slots
//! than shards, every shard has some of them, busy shards more. With fewer, they go where commands
//! are known to wait and visit the other shards in turn; each shard is polled many times a second.
//! Some slots always stay free for other kinds that share them, and no slot is held for long
//! without a command.
//!
//! A shard whose stream is missing is left out until the stream is back.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt, stream::BoxStream};
use proto::{
    decision::DecisionKind,
    id::{HookName, Pool, Seq, Shard},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, MissedTickBehavior},
};

use super::{
    ack::NatsAck,
    lane::Lane,
    log::NatsLog,
    pull::{Delivered, Event, Puller, Wait},
    setup,
};
use crate::log::{Ack, Delivery, LogError};

/// Slots of a quiet shard, and the most that a busy shard requests at a time.
const SHARE_MIN: usize = 16;
const SHARE_MAX: usize = 256;
/// Wait of a request when slots remain.
const PATIENT: Duration = Duration::from_secs(5);
/// Wait of a request that took the last slot.
const SHORT: Duration = Duration::from_millis(500);
/// Wait of a request when there are fewer slots than shards.
const BRIEF: Duration = Duration::from_millis(50);
/// Interval at which each shard is polled, with fewer slots than shards, even if commands wait
/// elsewhere.
const LOOK: Duration = Duration::from_millis(100);
/// Delay before a command whose body could not be fetched is redelivered.
const BODY_AWAY: Duration = Duration::from_secs(1);
/// Interval at which consumers are checked for a stall.
const WATCH: Duration = Duration::from_secs(5);
/// Interval at which the streams of lost shards are looked for.
const SEARCH: Duration = Duration::from_secs(5);

/// The messages that a consumer pulls.
#[derive(Debug, Clone, derive_more::Display)]
pub(super) enum Pulled {
    /// Commands of one kind for one pool.
    #[display("{_0}.{_1}")]
    Commands(DecisionKind, Pool),
    /// The outbox of a webhook.
    #[display("the outbox of {_0}")]
    Outbox(HookName),
}

impl Pulled {
    /// Creates or checks the consumers. Returns the shards whose stream exists.
    async fn consumers(&self, log: &NatsLog) -> Result<Vec<Shard>, LogError> {
        let NatsLog { link, subjects, options, .. } = log;
        match self {
            Self::Commands(kind, pool) => {
                setup::commands(link, subjects, *kind, pool, options).await
            }
            Self::Outbox(hook) => setup::outbox(link, subjects, hook, options).await,
        }
    }

    fn consumer(&self, log: &NatsLog) -> String {
        match self {
            Self::Commands(kind, pool) => log.subjects.commands_consumer(*kind, pool),
            Self::Outbox(hook) => log.subjects.outbox_consumer(hook),
        }
    }
}

/// Opens the queue of commands of one kind for one pool.
pub(super) async fn open(
    log: NatsLog,
    kind: DecisionKind,
    pool: &Pool,
    slots: Arc<Semaphore>,
) -> Result<BoxStream<'static, Result<Delivery, LogError>>, LogError> {
    let mut pulled = pull(log.clone(), Pulled::Commands(kind, pool.clone()), slots).await?;
    Ok(Box::pin(async_stream::stream! {
        while let Some(next) = pulled.next().await {
            match next {
                Ok((delivered, slot)) => match deliver(&log, *delivered, slot).await {
                    Some(delivery) => yield delivery,
                    None => {}
                },
                Err(error) => yield Err(error),
            }
        }
    }))
}

/// A message with the permit of its slot.
pub(super) type Slotted = (Box<Delivered>, Option<OwnedSemaphorePermit>);

/// Pulls messages until the slots are closed or the consumers cannot be used.
pub(super) async fn pull(
    log: NatsLog,
    what: Pulled,
    slots: Arc<Semaphore>,
) -> Result<BoxStream<'static, Result<Slotted, LogError>>, LogError> {
    let present = lanes(&log, &what).await?;
    let demand = Demand::new(present.len());
    let puller = Puller::open(Arc::clone(&log.link), present, log.options.stall()).await?;
    let mut queue = Queue { puller, demand, slots, reserved: None };
    Ok(Box::pin(async_stream::stream! {
        let mut watchdog = tokio::time::interval(WATCH);
        let mut search = tokio::time::interval(SEARCH);
        // The search is polled only while a shard is lost, so ticks before the loss are skipped.
        search.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let wants_slot = queue.ask().await;
            let event = tokio::select! {
                biased;
                event = queue.puller.next() => event,
                slot = Arc::clone(&queue.slots).acquire_owned(), if wants_slot => match slot {
                    Ok(slot) => {
                        queue.reserve(slot);
                        continue;
                    }
                    // The semaphore is closed: no more slots.
                    Err(_) => return,
                },
                _ = watchdog.tick() => match queue.puller.watchdog().await {
                    Some(event) => event,
                    None => continue,
                },
                _ = search.tick(), if queue.lacks_shards(&log) => {
                    match lanes(&log, &what).await {
                        Ok(present) if present.len() > queue.puller.lanes.len() => {
                            queue.puller.lanes = present;
                            Event::Broken("a lost shard is back")
                        }
                        Ok(_) | Err(_) => continue,
                    }
                }
            };
            match event {
                Event::Delivered(delivered) => {
                    let slot = queue.delivered(&delivered);
                    yield Ok((delivered, slot));
                }
                Event::Ended { lane, left } => queue.ended(lane, left),
                Event::Broken(why) => {
                    tracing::warn!(commands = %what, why, "the request for commands failed; retrying");
                    if let Err(error) = queue.reopen(&log, &what).await {
                        yield Err(error);
                        return;
                    }
                }
                Event::Failed(error) => {
                    let is_shard = queue.drop_lost_shards(&log, &what).await;
                    if is_shard && queue.reopen(&log, &what).await.is_ok() {
                        continue;
                    }
                    yield Err(error);
                    return;
                }
            }
        }
    }))
}

/// Creates or checks the consumers of a queue, and returns those of the shards that are not lost.
async fn lanes(log: &NatsLog, what: &Pulled) -> Result<Vec<Lane>, LogError> {
    let (shards, name) = (what.consumers(log).await?, what.consumer(log));
    let lane = |shard| Lane::new(log.subjects.stream(shard), name.clone(), false);
    Ok(shards.into_iter().map(lane).collect())
}

/// The consumers and the slots reserved for their requests.
struct Queue {
    puller: Puller,
    demand: Demand,
    slots: Arc<Semaphore>,
    /// One permit for each requested message, and some that are unused.
    reserved: Option<OwnedSemaphorePermit>,
}

impl Queue {
    fn lacks_shards(&self, log: &NatsLog) -> bool {
        self.puller.lanes.len() < usize::from(log.subjects.shards())
    }

    /// Leaves out shards that were lost since the last subscription. Returns `false` if none was.
    async fn drop_lost_shards(&mut self, log: &NatsLog, what: &Pulled) -> bool {
        match lanes(log, what).await {
            Ok(present) if present.len() < self.puller.lanes.len() => {
                self.puller.lanes = present;
                true
            }
            Ok(_) | Err(_) => false,
        }
    }

    /// Resubscribes after an interruption, without shards that were lost.
    async fn reopen(&mut self, log: &NatsLog, what: &Pulled) -> Result<(), LogError> {
        self.reserved = None;
        loop {
            let reopened = self.puller.reopen().await;
            if let Err(LogError::Lost(_)) = &reopened {
                self.puller.lanes = lanes(log, what).await?;
                continue;
            }
            self.demand = Demand::new(self.puller.lanes.len());
            return reopened.map(|_| ());
        }
    }

    fn reserve(&mut self, slots: OwnedSemaphorePermit) {
        match &mut self.reserved {
            Some(reserved) => reserved.merge(slots),
            None => self.reserved = Some(slots),
        }
    }

    /// Number of reserved slots that no request uses.
    fn idle(&self) -> usize {
        let asked: usize = self.puller.lanes.iter().map(|lane| lane.credit).sum();
        let reserved = self.reserved.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        reserved.saturating_sub(asked)
    }

    /// Requests as many commands as there are slots. Returns `true` if a shard waits for a slot.
    async fn ask(&mut self) -> bool {
        loop {
            let credits: Vec<usize> = self.puller.lanes.iter().map(|lane| lane.credit).collect();
            let free = self.idle() + self.slots.available_permits();
            let Some((lane, n, wait)) = self.demand.next(&credits, free) else {
                return credits.contains(&0);
            };
            let missing = u32::try_from(n.saturating_sub(self.idle())).unwrap_or(u32::MAX);
            if missing > 0 {
                match Arc::clone(&self.slots).try_acquire_many_owned(missing) {
                    Ok(slots) => self.reserve(slots),
                    // Another task took the slots first.
                    Err(_) => return true,
                }
            }
            self.demand.asked(lane, n);
            self.puller.request(lane, n, wait).await;
        }
    }

    fn delivered(&mut self, delivered: &Delivered) -> Option<OwnedSemaphorePermit> {
        self.demand.came(delivered.lane, delivered.pending);
        self.reserved.as_mut().and_then(|reserved| reserved.split(1))
    }

    fn ended(&mut self, lane: usize, left: usize) {
        self.demand.came_not(lane, left);
        let reserved = self.reserved.as_mut();
        drop(reserved.and_then(|reserved| reserved.split(left.min(reserved.num_permits()))));
    }
}

/// The choice of the next shard and of the number of commands to request there. Pure except that it
/// reads the time.
struct Demand {
    lanes: Vec<ShardShare>,
    cursor: usize,
}

/// Demand statistics of a shard.
#[derive(Clone)]
struct ShardShare {
    /// Largest number of commands of its next request.
    share: usize,
    /// Number of commands of its last request.
    given: usize,
    /// Number of pending commands behind the last one delivered.
    waiting: u64,
    looked: Option<Instant>,
}

impl Demand {
    fn new(lanes: usize) -> Self {
        let wanted = ShardShare { share: SHARE_MIN, given: 0, waiting: 0, looked: None };
        Self { lanes: vec![wanted; lanes], cursor: 0 }
    }

    /// Chooses the next shard, the number of commands and the wait. `credits` holds the outstanding
    /// commands of each shard, `free` the number of usable slots.
    fn next(&mut self, credits: &[usize], free: usize) -> Option<(usize, usize, Wait)> {
        if free == 0 {
            return None;
        }
        let count = self.lanes.len();
        let order: Vec<usize> = (0..count).map(|n| (self.cursor + n) % count).collect();
        let empty: Vec<usize> = order.iter().copied().filter(|&lane| credits[lane] == 0).collect();
        if empty.is_empty() {
            // A busy shard gets more before its credit is used up.
            let busy = |&lane: &usize| self.lanes[lane].is_busy(credits[lane]);
            let lane = order.into_iter().find(busy)?;
            let n = self.lanes[lane].share.min(free.div_ceil(2));
            return Some((lane, n, wait(n, free)));
        }
        if free >= empty.len() {
            let lane = empty[0];
            let fair = (free / (2 * empty.len())).max(1);
            let n = self.lanes[lane].share.min(fair);
            return Some((lane, n, wait(n, free)));
        }
        let now = Instant::now();
        let long_ago =
            |lane: &usize| self.lanes[*lane].looked.is_none_or(|at| now.duration_since(at) >= LOOK);
        if let Some(lane) = empty.iter().copied().find(long_ago) {
            return Some((lane, 1, Wait::No));
        }
        if let Some(lane) = empty.iter().copied().find(|&lane| self.lanes[lane].waiting > 0) {
            return Some((lane, 1, Wait::For(BRIEF)));
        }
        Some((empty[0], 1, Wait::For(BRIEF)))
    }

    fn asked(&mut self, lane: usize, n: usize) {
        self.cursor = (lane + 1) % self.lanes.len();
        let lane = &mut self.lanes[lane];
        (lane.given, lane.looked) = (n, Some(Instant::now()));
    }

    fn came(&mut self, lane: usize, waiting: u64) {
        let lane = &mut self.lanes[lane];
        lane.waiting = waiting;
        if waiting > 0 {
            lane.share = (lane.share * 2).min(SHARE_MAX);
        }
    }

    fn came_not(&mut self, lane: usize, left: usize) {
        let lane = &mut self.lanes[lane];
        lane.waiting = 0;
        if left >= lane.given {
            lane.share = SHARE_MIN;
        }
    }
}

impl ShardShare {
    fn is_busy(&self, credit: usize) -> bool {
        credit <= self.given / 2
    }
}

fn wait(n: usize, free: usize) -> Wait {
    Wait::For(if n == free { SHORT } else { PATIENT })
}

/// Builds the delivery of a command. Terminates a message that is not a record of this
/// installation. Has a command redelivered soon if its body cannot be fetched.
async fn deliver(
    log: &NatsLog,
    delivered: Delivered,
    slot: Option<OwnedSemaphorePermit>,
) -> Option<Result<Delivery, LogError>> {
    let ack = NatsAck { link: Arc::clone(&log.link), reply: delivered.reply };
    let (times, seq): (u64, Seq) = (delivered.delivered, delivered.message.seq);
    match log.entry(delivered.message).await {
        Ok(Some(entry)) if !entry.is_forged() => {
            Some(Ok(Delivery { entry, delivered: times, ack: Box::new(ack), slot }))
        }
        Ok(Some(_) | None) => {
            ack.never().await;
            None
        }
        Err(error) => {
            tracing::warn!(%error, %seq, "the body of a command cannot be fetched; the command will be redelivered");
            ack.later(BODY_AWAY).await;
            Some(Err(error))
        }
    }
}
