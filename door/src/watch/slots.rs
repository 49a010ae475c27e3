//! The watches that one process serves at a time, and their division among callers.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use proto::{
    error::{Code, Failure},
    refusal::Text,
};
use runtime::people::Caller;

/// A caller may hold this many times the number of free places. A single caller then gets three
/// quarters of them, the next one three quarters of the rest, and a caller without a watch any free
/// place.
const TIMES_FREE: usize = 3;

/// The places of concurrent watches.
#[derive(Debug)]
pub(crate) struct Slots {
    all: usize,
    /// Number of watches of each caller that has any.
    held: Mutex<BTreeMap<String, usize>>,
}

/// The place of one watch, free again when dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<Slots>,
    holder: String,
}

impl Slots {
    pub(crate) fn new(all: usize) -> Arc<Self> {
        Arc::new(Self { all, held: Mutex::default() })
    }

    /// Takes a place for the owner of a token. Callers without tokens are told apart by the inbox of
    /// their requests.
    ///
    /// # Errors
    /// `overloaded` if no place is free, or the caller has too many of them.
    pub(super) fn take(self: &Arc<Self>, caller: &Caller, inbox: &str) -> Result<Slot, Failure> {
        let holder = match caller {
            Caller::Known(name) | Caller::Vouched(name, _) => name.as_str().to_owned(),
            Caller::Anyone => inbox.to_owned(),
        };
        let mut held = self.held();
        let free = self.all.saturating_sub(held.values().sum());
        if free == 0 {
            return Err(Failure::of(Code::Overloaded, Text::TooManyWatches));
        }
        let own = held.entry(holder.clone()).or_default();
        if *own >= free.saturating_mul(TIMES_FREE) {
            return Err(Failure::of(Code::Overloaded, Text::WatchesOfOne { own, free: &free }));
        }
        *own += 1;
        drop(held);
        Ok(Slot { slots: Arc::clone(self), holder })
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut held = self.slots.held();
        if let Some(own) = held.get_mut(&self.holder) {
            *own -= 1;
            if *own == 0 {
                held.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proto::limits;

    use super::*;

    fn take(slots: &Arc<Slots>, inbox: &str) -> Vec<Slot> {
        std::iter::from_fn(|| slots.take(&Caller::Anyone, inbox).ok()).collect()
    }

    #[test]
    fn no_caller_takes_every_place() {
        let slots = Slots::new(limits::WATCHES_MAX);
        let ann = take(&slots, "_INBOX_client.ann");
        let bob = take(&slots, "_INBOX_client.bob");
        let eve = take(&slots, "_INBOX_client.eve");
        assert_eq!((ann.len(), bob.len(), eve.len()), (1500, 375, 94));
        let refused = slots.take(&Caller::Anyone, "_INBOX_client.ann").unwrap_err();
        let why = "one caller has 1500 watches open already, and 31 are left for others";
        assert_eq!((refused.code, refused.message.as_str()), (Code::Overloaded, why));
        drop(ann);
        assert_eq!(take(&slots, "_INBOX_client.bob").len(), 1055);
    }

    #[test]
    fn the_owner_of_a_token_is_one_caller_from_every_inbox() {
        let slots = Slots::new(4);
        let ann = Caller::Known("ann".to_owned().try_into().unwrap());
        let from = |inbox: &str| slots.take(&ann, inbox);
        let held = ["_INBOX.a", "_INBOX.b", "_INBOX.c"].map(|inbox| from(inbox).unwrap());
        assert!(from("_INBOX.d").is_err());
        let other = slots.take(&Caller::Anyone, "_INBOX.d").unwrap();
        assert!(slots.take(&Caller::Anyone, "_INBOX.e").is_err(), "no place is left");
        drop((held, other));
        assert!(slots.held().is_empty());
    }
}
