//! Random numbers from a seed. Every draw of a simulation uses this generator or that of the
//! thread, which is seeded too, so equal seeds give equal worlds.

use std::{
    ops::RangeInclusive,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// A generator with a seed. Clones share the sequence.
#[derive(Debug, Clone)]
pub(crate) struct Chance(Arc<Mutex<fastrand::Rng>>);

impl Chance {
    /// Creates the sequence of a seed for one purpose. The sequences of different purposes are
    /// independent.
    pub(crate) fn new(seed: u64, purpose: &str) -> Self {
        let mixed = purpose
            .bytes()
            .fold(seed ^ 0xcbf2_9ce4_8422_2325, |h, b| {
                (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
            })
            .wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut rng = fastrand::Rng::with_seed(mixed);
        // The first draws of neighbouring seeds are similar, so they are skipped.
        (0..4).for_each(|_| _ = rng.u64(..));
        Self(Arc::new(Mutex::new(rng)))
    }

    pub(crate) fn number(&self, range: RangeInclusive<u64>) -> u64 {
        self.lock().u64(range)
    }

    /// Draws a duration of whole milliseconds.
    pub(crate) fn millis(&self, range: RangeInclusive<u64>) -> Duration {
        Duration::from_millis(self.number(range))
    }

    /// Returns `true` with a probability of `percent` in a hundred.
    pub(crate) fn percent(&self, percent: u64) -> bool {
        percent > 0 && self.number(0..=99) < percent
    }

    pub(crate) fn pick<'a, T>(&self, of: &'a [T]) -> &'a T {
        let last = of.len().saturating_sub(1) as u64;
        let at = usize::try_from(self.number(0..=last)).unwrap_or_default();
        &of[at]
    }

    fn lock(&self) -> MutexGuard<'_, fastrand::Rng> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
