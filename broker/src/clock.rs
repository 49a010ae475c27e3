//! The time, as a value that tests can set.

use std::time::Duration;

use jiff::Timestamp;

/// Tells the time.
pub trait Clock: Send + Sync + std::fmt::Debug + 'static {
    /// The time of day. May jump, backwards too: never measure with it.
    fn now(&self) -> Timestamp;
    /// Time since some moment before; never goes back.
    fn monotonic(&self) -> Duration;
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    start: tokio::time::Instant,
}

impl SystemClock {
    /// The clock of the machine; monotonic time counts from here.
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
