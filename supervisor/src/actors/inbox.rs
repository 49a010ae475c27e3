//! The inbox of a job's actor. Facts that arrive during an activation wait here for the next one,
//! which takes all of them.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use broker::log::Delivery;
use proto::fact::Signal;

/// The facts and requests that wait for a job's actor.
#[derive(Debug, Default)]
pub(super) struct Inbox(Mutex<Waiting>);

/// The content of an inbox.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) facts: VecDeque<Delivery>,
    /// `true` if an activation is requested even without facts.
    pub(super) look: bool,
    /// `true` if the cached fold can no longer be trusted.
    pub(super) forget: bool,
    awake: bool,
}

impl Inbox {
    /// Applies `change` to the inbox and returns `true` if the actor must be woken.
    pub(super) fn add(&self, change: impl FnOnce(&mut Waiting)) -> bool {
        let mut waiting = self.lock();
        change(&mut waiting);
        !std::mem::replace(&mut waiting.awake, true)
    }

    /// Takes the content of the inbox. Returns `None` if it is empty: the actor then sleeps until
    /// the next addition.
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

    /// Returns `true` if facts wait for the next activation.
    pub(super) fn has_facts(&self) -> bool {
        !self.lock().facts.is_empty()
    }

    /// Returns `true` if the inbox is empty and the actor sleeps.
    pub(super) fn is_idle(&self) -> bool {
        !self.lock().awake
    }

    /// Locks the inbox. Poisoning is ignored: no code that can panic half-way runs under the lock.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns `true` if the fact is an operator's retry, which also revives a quarantined job.
pub(super) fn says_retry(delivery: &Delivery) -> bool {
    delivery.entry.signal().is_some_and(|signaled| signaled.signal == Signal::Retry)
}
