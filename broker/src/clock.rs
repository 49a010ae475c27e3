//! A source of time that tests can replace.

use std::time::Duration;

use jiff::Timestamp;

/// A source of time.
pub trait Clock: Send + Sync + std::fmt::Debug + 'static {
    /// Returns the time of day. It may jump, backwards too, so durations must not be measured with
    /// it.
    fn now(&self) -> Timestamp;
    /// Returns the time since an arbitrary earlier moment. Never decreases.
    fn monotonic(&self) -> Duration;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    start: tokio::time::Instant,
}

impl SystemClock {
    /// Creates the clock; monotonic time starts at zero.
    #[must_use]
    pub fn new() -> Self {
        Self { start: tokio::time::Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_system_clock_measures_forward() {
        let clock = SystemClock::new();
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert!(clock.monotonic() >= Duration::from_secs(3));
    }
}
