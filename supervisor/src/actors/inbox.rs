//! What a job's actor has not looked at yet. Facts that arrive while it decides wait here and are
//! taken together: one fold, one look, instead of one for each.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use broker::log::Delivery;
use proto::fact::Signal;

/// The facts and wishes waiting for one job's actor.
#[derive(Debug, Default)]
pub(super) struct Inbox(Mutex<Waiting>);

/// What waited.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) facts: VecDeque<Delivery>,
    /// The job is to be looked at although no fact came.
    pub(super) look: bool,
    /// What is cached can no longer be trusted.
    pub(super) forget: bool,
    awake: bool,
}

impl Inbox {
    /// Adds to what waits; says whether the actor must be woken.
    pub(super) fn add(&self, change: impl FnOnce(&mut Waiting)) -> bool {
        let mut waiting = self.lock();
        change(&mut waiting);
        !std::mem::replace(&mut waiting.awake, true)
    }

    /// Takes all that waits. When there is nothing the actor goes to sleep: the next addition wakes
    /// it again.
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

    /// Whether nothing waits and the actor sleeps.
    pub(super) fn is_idle(&self) -> bool {
        !self.lock().awake
    }

    /// A panic while the lock is held cannot leave the queue half changed: no code of a job runs
    /// under it.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an operator wants a job tried again, one that breaks its actor included.
pub(super) fn says_retry(delivery: &Delivery) -> bool {
    delivery.entry.signal().is_some_and(|signaled| signaled.signal == Signal::Retry)
}
