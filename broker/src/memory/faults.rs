//! Injectable faults, each observed on a real broker unless its documentation says otherwise.

use std::{
    collections::VecDeque,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::log::LogError;

/// A kind of call that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// `Writer::submit`.
    Submit,
    /// `Writer::append` and `Writer::append_after`.
    Append,
    /// `Writer::answer`.
    Answer,
    /// `Writer::decide`.
    Decide,
    /// `Writer::arm` and `Writer::disarm`.
    Timer,
    /// Every read of the log, including those that settle a write.
    Read,
    /// `Maintenance::purge` and `Maintenance::purge_until`.
    Purge,
    /// Every method of `Objects`.
    Objects,
    /// Every method of `Kv`.
    Kv,
    /// Every method of `Bus`.
    Bus,
}

/// A fault of one attempt. A call that does not write fails as unavailable, whatever the fault.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Stores the record but replies with a conflict, as a replaced leader did.
    LyingConflict,
    /// Stores the record but loses the reply.
    LostReply,
    /// Loses the request: nothing is stored, and no reply arrives.
    LostRequest,
    /// The broker is unreachable. The call pauses and retries.
    Unavailable,
    /// Fails at once with this error and stores nothing.
    Fails(LogError),
}

/// A fault of a due timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerFault {
    /// Fires twice.
    Twice,
    /// Never fires. No measured broker did that; the fault exercises the sweep.
    Never,
}

/// Pending faults, consumed in the order of injection.
#[derive(Debug, Default)]
pub struct Faults {
    calls: Mutex<VecDeque<(Call, Fault)>>,
    timers: Mutex<VecDeque<TimerFault>>,
    deliveries: Mutex<Deliveries>,
    down: AtomicBool,
    full: AtomicBool,
    forgetful: AtomicBool,
}

#[derive(Debug, Default, Clone, Copy)]
struct Deliveries {
    twice: usize,
    newest_first: usize,
    acks_lost: usize,
}

impl Faults {
    /// Makes the next `times` attempts of a call fail.
    pub fn inject(&self, call: Call, fault: &Fault, times: usize) {
        lock(&self.calls).extend((0..times).map(|_| (call, fault.clone())));
    }

    /// Makes the next `times` due timers misbehave.
    pub fn inject_timer(&self, fault: TimerFault, times: usize) {
        lock(&self.timers).extend((0..times).map(|_| fault));
    }

    /// Repeats each of the next `times` deliveries immediately.
    pub fn duplicate_deliveries(&self, times: usize) {
        lock(&self.deliveries).twice += times;
    }

    /// Delivers the newest message of the queue for the next `times` deliveries.
    pub fn reorder_deliveries(&self, times: usize) {
        lock(&self.deliveries).newest_first += times;
    }

    /// Loses the next `times` acknowledgements.
    pub fn lose_acks(&self, times: usize) {
        lock(&self.deliveries).acks_lost += times;
    }

    /// Makes the broker unreachable, deliveries included, or reachable again.
    pub fn set_down(&self, down: bool) {
        self.down.store(down, Ordering::SeqCst);
    }

    /// Makes writes fail with [`LogError::Full`], or lifts that.
    pub fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::SeqCst);
    }

    /// Removes all pending faults and resets all modes.
    pub fn clear(&self) {
        lock(&self.calls).clear();
        lock(&self.timers).clear();
        *lock(&self.deliveries) = Deliveries::default();
        self.set_down(false);
        self.set_full(false);
        self.set_forgetful(false);
    }

    /// Disables deduplication: a record that is sent twice is stored twice.
    pub fn set_forgetful(&self, forgetful: bool) {
        self.forgetful.store(forgetful, Ordering::SeqCst);
    }

    /// Number of call faults still pending.
    #[must_use]
    pub fn left(&self) -> usize {
        lock(&self.calls).len()
    }

    pub(super) fn take(&self, call: Call) -> Option<Fault> {
        if self.is_down() {
            return Some(Fault::Unavailable);
        }
        let mut calls = lock(&self.calls);
        let first = calls.iter().position(|(c, _)| *c == call)?;
        calls.remove(first).map(|(_, fault)| fault)
    }

    /// Returns the error of a call that does not write, if a fault is pending.
    pub(super) fn failure(&self, call: Call) -> Option<LogError> {
        match self.take(call)? {
            Fault::Fails(error) => Some(error),
            Fault::LyingConflict | Fault::LostReply | Fault::LostRequest | Fault::Unavailable => {
                Some(LogError::Unavailable("the broker in memory plays dead".into()))
            }
        }
    }

    pub(super) fn take_timer(&self) -> Option<TimerFault> {
        lock(&self.timers).pop_front()
    }

    pub(super) fn take_duplicate(&self) -> bool {
        used(&mut lock(&self.deliveries).twice)
    }

    pub(super) fn take_reorder(&self) -> bool {
        used(&mut lock(&self.deliveries).newest_first)
    }

    pub(super) fn take_lost_ack(&self) -> bool {
        used(&mut lock(&self.deliveries).acks_lost)
    }

    pub(super) fn is_down(&self) -> bool {
        self.down.load(Ordering::SeqCst)
    }

    pub(super) fn is_full(&self) -> bool {
        self.full.load(Ordering::SeqCst)
    }

    pub(super) fn is_forgetful(&self) -> bool {
        self.forgetful.load(Ordering::SeqCst)
    }
}

fn used(left: &mut usize) -> bool {
    let any = *left > 0;
    *left = left.saturating_sub(1);
    any
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
