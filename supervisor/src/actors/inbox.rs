//! The inbox of a job's actor. Facts that arrive during an activation wait here, and the next
//! activation takes all of them.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use broker::log::Delivery;
use proto::fact::Signal;

/// The facts and requests that wait for one job's actor.
#[derive(Debug, Default)]
pub(super) struct Inbox(Mutex<Waiting>);

/// The content of an inbox.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) facts: VecDeque<Delivery>,
    /// Whether the job is activated although no fact arrived.
    pub(super) look: bool,
    /// Whether the fold in memory can no longer be trusted.
    pub(super) forget: bool,
    awake: bool,
}

impl Inbox {
    /// Adds to the inbox. Whether the actor must be woken.
    pub(super) fn add(&self, change: impl FnOnce(&mut Waiting)) -> bool {
        let mut waiting = self.lock();
        change(&mut waiting);
        !std::mem::replace(&mut waiting.awake, true)
    }

    /// Empties the inbox. When it is empty the actor goes to sleep: the next addition wakes it again.
    pub(super) fn take(&self) -> Option<Waiting> {
        let mut waiting = self.lock();
        if waiting.facts.is_empty() && !waiting.look && !waiting.forget {
            waiting.awake = false;
            return None;
        }
        let taken = std::mem::take(&mut *waiting);
        waiting.awake = true;
        Some(taken)
    }

    /// Whether the inbox is empty and the actor sleeps.
    pub(super) fn is_idle(&self) -> bool {
        !self.lock().awake
    }

    /// A panic while the lock is held cannot leave the queue half changed: no code of a job runs
    /// under it.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an operator retries the job. This revives a job whose actor kept dying, too.
pub(super) fn says_retry(delivery: &Delivery) -> bool {
    delivery.entry.signal().is_some_and(|signaled| signaled.signal == Signal::Retry)
}
