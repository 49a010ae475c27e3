//! A clock for tests.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};

use crate::clock::Clock;

/// A clock that a test moves by hand.
#[derive(Debug)]
pub struct ManualClock {
    state: Mutex<(Timestamp, Duration)>,
}

impl ManualClock {
    /// A clock that shows `now`.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self { state: Mutex::new((now, Duration::ZERO)) }
    }

    /// Lets time pass. Stays at the end of time when that would be passed.
    pub fn advance(&self, by: Duration) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let step = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
        state.0 = state.0.checked_add(step).unwrap_or(Timestamp::MAX);
        state.1 = state.1.saturating_add(by);
    }

    /// Sets the time of day, backwards if need be; monotonic time stays.
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
}
