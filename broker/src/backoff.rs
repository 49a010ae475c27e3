//! Pauses between the attempts of an operation that may succeed later.
//!
//! `operation.retry(BACKOFF)`, from the crate `backon`, is the usual retry loop. An actor that
//! retries by sending itself a message takes single pauses.

use std::time::Duration;

pub use backon::Retryable;

/// An endless iterator of pauses, one per failure, that double up to a bound.
#[derive(Debug, Clone)]
pub struct Backoff {
    next: Duration,
    longest: Duration,
}

impl Backoff {
    /// Creates a backoff whose pauses are all equal.
    #[must_use]
    pub const fn constant(pause: Duration) -> Self {
        Self { next: pause, longest: pause }
    }

    /// Creates a backoff whose pauses double from `first` up to `longest`.
    #[must_use]
    pub const fn doubling(first: Duration, longest: Duration) -> Self {
        Self { next: first, longest }
    }

    /// Returns the next pause and advances.
    #[must_use]
    pub fn pause(&mut self) -> Duration {
        let pause = self.after(0);
        self.next = self.after(1);
        pause
    }

    /// Returns the pause after `failures` earlier failures.
    #[must_use]
    pub fn after(&self, failures: u32) -> Duration {
        self.next.saturating_mul(2_u32.saturating_pow(failures)).min(self.longest)
    }
}

impl Iterator for Backoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(self.pause())
    }
}

/// Returns a random duration between half of `pause` and all of it, so that many clients do not
/// retry at the same moment.
#[must_use]
pub fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(0.5 + fastrand::f64() / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let seconds = Duration::from_secs;
        let backoff = Backoff::doubling(seconds(1), seconds(5));
        let pauses = [1, 2, 4, 5, 5].map(seconds);
        assert!(backoff.clone().take(5).eq(pauses));
        for (failures, pause) in (0..).zip(pauses) {
            assert_eq!(backoff.after(failures), pause);
        }
        assert_eq!(backoff.after(u32::MAX), seconds(5));
        assert!(Backoff::constant(seconds(2)).take(3).eq([2, 2, 2].map(seconds)));
    }

    #[test]
    fn jitter_shortens_a_pause_by_at_most_one_half() {
        let pause = Duration::from_secs(1);
        for _ in 0..1_000 {
            assert!((pause / 2..=pause).contains(&jittered(pause)));
        }
    }
}
