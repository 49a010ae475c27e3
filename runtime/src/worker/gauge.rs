//! The load of a pool, readable from any thread.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use proto::{decision::DecisionKind, id::Pool, wire::PoolLoad};

/// The number of commands that a pool holds, its capacity, and whether it receives commands. Clones
/// share the counters.
#[derive(Debug, Clone)]
pub struct Gauge {
    name: Arc<str>,
    in_flight: Arc<AtomicU32>,
    taking: Arc<AtomicBool>,
    capacity: u32,
}

/// One held command, counted until this value is dropped.
#[derive(Debug)]
pub(crate) struct Counted(Arc<AtomicU32>);

impl Gauge {
    /// Creates the gauge of a pool that holds nothing.
    #[must_use]
    pub fn new(kind: DecisionKind, pool: &Pool, capacity: usize) -> Self {
        Self {
            name: format!("{}.{pool}", kind.as_str()).into(),
            in_flight: Arc::default(),
            taking: Arc::default(),
            capacity: u32::try_from(capacity).unwrap_or(u32::MAX),
        }
    }

    /// The current load.
    #[must_use]
    pub fn load(&self) -> PoolLoad {
        PoolLoad {
            pool: self.name.to_string(),
            in_flight: self.in_flight.load(Ordering::Relaxed),
            capacity: self.capacity,
        }
    }

    /// Returns whether the pool's command stream is open.
    #[must_use]
    pub fn is_taking(&self) -> bool {
        self.taking.load(Ordering::Relaxed)
    }

    pub(crate) fn set_taking(&self, taking: bool) {
        self.taking.store(taking, Ordering::Relaxed);
    }

    pub(crate) fn count(&self) -> Counted {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Counted(Arc::clone(&self.in_flight))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
