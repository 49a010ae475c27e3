//! A time of day that advances with tokio's time, paused or not.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::clock::Clock;

/// A clock that starts at a given time of day and advances with tokio's time. Copies show the same
/// time.
#[derive(Debug, Clone, Copy)]
pub struct VirtualClock {
    start: Instant,
    origin: Timestamp,
}

impl VirtualClock {
    /// Creates a clock that shows the machine's current time.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(Timestamp::now())
    }

    /// Creates a clock that shows `origin` now.
    #[must_use]
    pub fn starting_at(origin: Timestamp) -> Self {
        Self { start: Instant::now(), origin }
    }
}

impl Default for VirtualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        let passed = SignedDuration::try_from(self.start.elapsed()).unwrap_or(SignedDuration::MAX);
        self.origin.checked_add(passed).unwrap_or(Timestamp::MAX)
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }
}
