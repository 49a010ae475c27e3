//! A source of time that tests can replace.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};

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

/// A clock that a test moves by hand.
#[derive(Debug)]
pub struct ManualClock {
    state: Mutex<(Timestamp, Duration)>,
}

impl ManualClock {
    /// Creates a clock that shows `now`.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self { state: Mutex::new((now, Duration::ZERO)) }
    }

    /// Advances both times by `by`, at most to the largest timestamp.
    pub fn advance(&self, by: Duration) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let step = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
        state.0 = state.0.checked_add(step).unwrap_or(Timestamp::MAX);
        state.1 = state.1.saturating_add(by);
    }

    /// Sets the time of day, possibly backwards; monotonic time is unchanged.
    pub fn set(&self, now: Timestamp) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0 = now;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    fn monotonic(&self) -> Duration {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_does_not_move_monotonic_time() {
        let clock = ManualClock::new(Timestamp::UNIX_EPOCH);
        clock.advance(Duration::from_secs(90));
        assert_eq!(clock.now().as_second(), 90);
        clock.set(Timestamp::UNIX_EPOCH);
        assert_eq!((clock.now().as_second(), clock.monotonic()), (0, Duration::from_secs(90)));
        clock.advance(Duration::MAX);
        assert_eq!(clock.now(), Timestamp::MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn the_system_clock_measures_forward() {
        let clock = SystemClock::new();
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert!(clock.monotonic() >= Duration::from_secs(3));
    }
}
