//! A durable consumer: pending and unacknowledged messages. Pure: the time is an argument.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use proto::{
    decision::DecisionKind,
    id::{HookName, JobId, Pool, Seq, Shard},
};
use tokio::{sync::Notify, time::Instant};

use super::stream::Message;
use crate::log::{self, Depth, OutboxState, Progress};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum QueueKey {
    /// The facts of a shard.
    Facts(Shard),
    /// Commands of one kind for one pool, over all shards.
    Commands(DecisionKind, Pool),
    /// The outbox of a webhook, over all shards.
    Outbox(HookName),
}

#[derive(Debug)]
struct Item {
    message: Arc<Message>,
    delivered: u64,
    phase: Phase,
}

/// The state of a message in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Never delivered.
    Fresh,
    /// Due for redelivery, in the order of this counter.
    Again(u64),
    /// Delivered; redelivered at this time unless acknowledged.
    Out(Instant),
}

/// A durable consumer.
#[derive(Debug)]
pub(super) struct Queue {
    ack_wait: Duration,
    items: BTreeMap<u64, Item>,
    /// Tickets of messages that were never delivered.
    fresh: BTreeSet<u64>,
    /// Tickets to redeliver, before fresh ones, in the order in which they became due.
    again: BTreeMap<u64, u64>,
    due: BTreeSet<(Instant, u64)>,
    /// Duplicates in transit, which an acknowledgement no longer stops.
    echoes: VecDeque<(Arc<Message>, u64)>,
    turn: u64,
    pin: Pin,
    /// `true` while nothing is delivered.
    is_off: bool,
    /// Notified on every change.
    pub(super) wake: Arc<Notify>,
}

/// The open feeds of a shard's facts; the first one holds the pin.
#[derive(Debug, Default)]
struct Pin {
    /// Ids of the open feeds; the first one receives the facts.
    feeds: Vec<u64>,
    /// Number of changes of the pin's holder.
    epoch: u64,
}

impl Queue {
    pub(super) fn new(ack_wait: Duration) -> Self {
        Self {
            ack_wait,
            items: BTreeMap::new(),
            fresh: BTreeSet::new(),
            again: BTreeMap::new(),
            due: BTreeSet::new(),
            echoes: VecDeque::new(),
            turn: 0,
            pin: Pin::default(),
            is_off: false,
            wake: Arc::default(),
        }
    }

    pub(super) fn push(&mut self, message: Arc<Message>) {
        self.fresh.insert(message.ticket);
        self.items.insert(message.ticket, Item { message, delivered: 0, phase: Phase::Fresh });
        self.wake.notify_waiters();
    }

    /// `true` if a message can be delivered now.
    pub(super) fn is_ready(&mut self, now: Instant) -> bool {
        self.expire(now);
        let is_empty = self.echoes.is_empty() && self.again.is_empty() && self.fresh.is_empty();
        !(self.is_off || is_empty)
    }

    /// Delivers a message and returns it with its number of deliveries.
    pub(super) fn take(&mut self, now: Instant, newest: bool) -> Option<(Arc<Message>, u64)> {
        self.expire(now);
        if let Some(echo) = self.echoes.pop_front() {
            return Some(echo);
        }
        let again = self.again.first_key_value().map(|(_, ticket)| *ticket);
        let ticket = match (newest, self.fresh.last()) {
            (true, Some(ticket)) => *ticket,
            (true, None) | (false, _) => again.or_else(|| self.fresh.first().copied())?,
        };
        self.move_to(ticket, Phase::Out(now + self.ack_wait));
        let item = self.items.get_mut(&ticket)?;
        item.delivered += 1;
        Some((Arc::clone(&item.message), item.delivered))
    }

    /// Returns the earliest deadline of a delivery.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Acknowledges a message, for any recipient and however late.
    pub(super) fn done(&mut self, ticket: u64) {
        if let Some(item) = self.items.remove(&ticket) {
            self.leave(ticket, item.phase);
        }
    }

    /// Extends the deadline of the current delivery, for any recipient.
    pub(super) fn working(&mut self, ticket: u64, now: Instant) {
        self.postpone(ticket, now + self.ack_wait);
    }

    /// Schedules a redelivery at `at`.
    pub(super) fn later(&mut self, ticket: u64, at: Instant) {
        self.postpone(ticket, at);
        self.wake.notify_waiters();
    }

    /// Stops or resumes deliveries.
    pub(super) fn switch(&mut self, is_on: bool) {
        self.is_off = !is_on;
        self.wake.notify_waiters();
    }

    /// Returns the state of an outbox.
    pub(super) fn outbox(&self) -> OutboxState {
        let Depth { pending, in_flight } = self.depth();
        let repeated = self.items.values().filter(|item| item.delivered > 1).count() as u64;
        OutboxState { is_off: self.is_off, pending, unsettled: in_flight, repeated }
    }

    /// Redelivers every delivered message.
    pub(super) fn redeliver_now(&mut self) {
        for (_, ticket) in self.due.clone() {
            self.turn += 1;
            self.move_to(ticket, Phase::Again(self.turn));
        }
        self.wake.notify_waiters();
    }

    /// Delivers a message a second time, acknowledged or not.
    pub(super) fn echo(&mut self, message: &Arc<Message>, delivered: u64) {
        self.echoes.push_back((Arc::clone(message), delivered + 1));
        self.wake.notify_waiters();
    }

    pub(super) fn purge(&mut self, job: &JobId, until: Seq) {
        let goes = |message: &Message| message.job == *job && message.seq <= until;
        self.echoes.retain(|(message, _)| !goes(message));
        let theirs = self.items.iter().filter(|(_, item)| goes(&item.message));
        for ticket in theirs.map(|(ticket, _)| *ticket).collect::<Vec<_>>() {
            self.done(ticket);
        }
    }

    pub(super) fn depth(&self) -> Depth {
        let pending = self.fresh.len() as u64;
        Depth { pending, in_flight: self.items.len() as u64 - pending }
    }

    /// Returns the depth of the queue in one shard, and the time of its oldest message.
    pub(super) fn part(&self, is_there: impl Fn(&JobId) -> bool) -> (Depth, Option<Timestamp>) {
        let mut depth = Depth::default();
        let mut oldest = None;
        for item in self.items.values().filter(|item| is_there(&item.message.job)) {
            match item.phase {
                Phase::Fresh => depth.pending += 1,
                Phase::Again(_) | Phase::Out(_) => depth.in_flight += 1,
            }
            oldest = oldest.min(Some(item.message.time)).or(Some(item.message.time));
        }
        (depth, oldest)
    }

    /// Returns the queue's progress in one shard, whose last position is `last`.
    pub(super) fn progress(
        &self,
        queue: log::Queue,
        last: Seq,
        is_there: impl Fn(&JobId) -> bool,
    ) -> Progress {
        let own = || self.items.values().filter(|item| is_there(&item.message.job));
        let before = |seq: Option<Seq>| seq.map_or(last, |seq| Seq(seq.0.saturating_sub(1)));
        let is_fresh = |item: &&Item| item.phase == Phase::Fresh;
        Progress {
            queue,
            done: before(own().map(|item| item.message.seq).min()),
            delivered: before(own().filter(is_fresh).map(|item| item.message.seq).min()),
            unacknowledged: own().filter(|item| !is_fresh(item)).count() as u64,
            pending: own().filter(is_fresh).count() as u64,
        }
    }

    /// Returns the jobs with unacknowledged messages.
    pub(super) fn unsettled(&self) -> BTreeSet<JobId> {
        let out = self.items.values().filter(|item| item.delivered > 0);
        out.map(|item| item.message.job.clone()).collect()
    }

    fn expire(&mut self, now: Instant) {
        while let Some((due, ticket)) = self.due.first().copied()
            && due <= now
        {
            self.turn += 1;
            self.move_to(ticket, Phase::Again(self.turn));
        }
    }

    fn postpone(&mut self, ticket: u64, due: Instant) {
        match self.items.get(&ticket).map(|item| item.phase) {
            Some(Phase::Out(_)) => self.move_to(ticket, Phase::Out(due)),
            Some(Phase::Fresh | Phase::Again(_)) | None => {}
        }
    }

    fn move_to(&mut self, ticket: u64, phase: Phase) {
        let Some(item) = self.items.get_mut(&ticket) else { return };
        let before = std::mem::replace(&mut item.phase, phase);
        self.leave(ticket, before);
        match phase {
            Phase::Fresh => _ = self.fresh.insert(ticket),
            Phase::Again(turn) => _ = self.again.insert(turn, ticket),
            Phase::Out(due) => _ = self.due.insert((due, ticket)),
        }
    }

    fn leave(&mut self, ticket: u64, phase: Phase) {
        match phase {
            Phase::Fresh => _ = self.fresh.remove(&ticket),
            Phase::Again(turn) => _ = self.again.remove(&turn),
            Phase::Out(due) => _ = self.due.remove(&(due, ticket)),
        }
    }

    pub(super) fn open_feed(&mut self, feed: u64) {
        self.pin.feeds.push(feed);
        if self.pin.feeds.len() == 1 {
            self.pin.epoch += 1;
        }
    }

    pub(super) fn close_feed(&mut self, feed: u64) {
        let first = self.pin.feeds.first() == Some(&feed);
        self.pin.feeds.retain(|f| *f != feed);
        if first {
            self.pin.epoch += 1;
        }
        self.wake.notify_waiters();
    }

    pub(super) fn unpin(&mut self) {
        if !self.pin.feeds.is_empty() {
            self.pin.feeds.rotate_left(1);
            self.pin.epoch += 1;
        }
        self.wake.notify_waiters();
    }

    /// Returns the current epoch if this feed holds the pin.
    pub(super) fn pinned(&self, feed: u64) -> Option<u64> {
        (self.pin.feeds.first() == Some(&feed)).then_some(self.pin.epoch)
    }
}
