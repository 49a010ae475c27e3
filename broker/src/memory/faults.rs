//! Faults on demand, each of which a real broker was seen to have.

use std::{
    collections::VecDeque,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::log::LogError;

/// A kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// `Log::submit`.
    Submit,
    /// `Log::append`.
    Append,
    /// `Log::answer`.
    Answer,
    /// `Log::decide`.
    Decide,
    /// `Log::arm` and `Log::disarm`.
    Timer,
    /// Everything of the log that reads, and what settles a write.
    Read,
    /// `Log::purge`.
    Purge,
    /// The object store.
    Objects,
    /// The key-value store.
    Kv,
    /// The bus.
    Bus,
}

/// A fault of one attempt. Calls that write nothing are unavailable, whatever the fault.
#[derive(Debug, Clone)]
pub enum Fault {
    /// It is stored, and a conflict is answered: a replaced leader did that.
    LyingConflict,
    /// It is stored, and the reply is lost.
    LostReply,
    /// It is not stored, and there is no reply.
    LostRequest,
    /// The broker cannot be reached. The call waits a little and tries again.
    Unavailable,
    /// The call fails with this at once, and nothing is stored.
    Fails(LogError),
}

/// A fault of a due timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerFault {
    /// It fires twice.
    Twice,
    /// It never fires. No broker that was measured did that: it shows what sweeps are good for.
    Never,
}

/// Faults to come. They are used up in the order in which they were asked for.
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
    /// The next `times` tries of a call go wrong.
    pub fn inject(&self, call: Call, fault: &Fault, times: usize) {
        lock(&self.calls).extend((0..times).map(|_| (call, fault.clone())));
    }

    /// The next `times` timers that are due go wrong.
    pub fn inject_timer(&self, fault: TimerFault, times: usize) {
        lock(&self.timers).extend((0..times).map(|_| fault));
    }

    /// Delivers the next `times` deliveries a second time right away.
    pub fn duplicate_deliveries(&self, times: usize) {
        lock(&self.deliveries).twice += times;
    }

    /// The next `times` deliveries are the newest of their queue.
    pub fn reorder_deliveries(&self, times: usize) {
        lock(&self.deliveries).newest_first += times;
    }

    /// The next `times` acknowledgements are lost.
    pub fn lose_acks(&self, times: usize) {
        lock(&self.deliveries).acks_lost += times;
    }

    /// The broker is unreachable. Deliveries stop too.
    pub fn set_down(&self, down: bool) {
        self.down.store(down, Ordering::SeqCst);
    }

    /// There is no room for more records.
    pub fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::SeqCst);
    }

    /// Nothing goes wrong from now on: whatever was asked for and has not come to pass is forgotten.
    pub fn clear(&self) {
        lock(&self.calls).clear();
        lock(&self.timers).clear();
        *lock(&self.deliveries) = Deliveries::default();
        self.set_down(false);
        self.set_full(false);
        self.set_forgetful(false);
    }

    /// A record that is sent twice is stored twice.
    pub fn set_forgetful(&self, forgetful: bool) {
        self.forgetful.store(forgetful, Ordering::SeqCst);
    }

    /// The number of call faults still to come.
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

    /// For calls that write nothing: why this one fails, if it does.
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
