//! The policies by which work is attempted again: after transient errors, and during outages. Field
//! names follow Temporal's retry policy.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{bounds::Text, id::Attempt, lang::Words, limits};

/// Exponential backoff with a bound on attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetryPolicy {
    /// Wait before the second attempt, in milliseconds.
    pub initial_interval_ms: u64,
    /// Factor between consecutive waits (1.0 to 10.0).
    pub backoff_factor: f64,
    /// Maximum wait, in milliseconds.
    pub max_interval_ms: u64,
    /// Maximum number of attempts, the first included; 1 disables retries.
    pub max_attempts: u32,
    /// Share of the wait that is subtracted at random (0.0 to 1.0).
    pub jitter: f64,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            initial_interval_ms: 500,
            backoff_factor: 2.0,
            max_interval_ms: 30_000,
            max_attempts: 3,
            jitter: 0.2,
        }
    }
}

impl RetryPolicy {
    /// Creates a policy without retries.
    #[must_use]
    pub fn never() -> Self {
        Self { max_attempts: 1, ..Self::default() }
    }

    /// Returns the wait after `failed` attempts, or `None` when no attempt is left.
    ///
    /// `seed` determines the jitter. Equal seeds give equal waits, so a decision can be replayed.
    #[must_use]
    pub fn delay(&self, failed: Attempt, seed: u64) -> Option<Duration> {
        let is_left = failed.0 < self.max_attempts.min(limits::ATTEMPTS_MAX);
        is_left.then(|| self.interval(failed, seed))
    }

    /// Returns the wait after `failed` attempts, whatever the number of attempts left.
    fn interval(&self, failed: Attempt, seed: u64) -> Duration {
        let exponent = i32::try_from(failed.0.saturating_sub(1)).unwrap_or(i32::MAX);
        #[expect(clippy::cast_precision_loss, reason = "waits are far below 2^52 milliseconds")]
        let full = (self.initial_interval_ms as f64 * self.backoff_factor.max(1.0).powi(exponent))
            .min(self.max_interval_ms as f64);
        // The splitmix64 function turns similar seeds into unrelated fractions.
        let mut z = seed.wrapping_add(u64::from(failed.0)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
        let fraction = ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
        let wait = full * (1.0 - self.jitter.clamp(0.0, 1.0) * fraction);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 ≤ wait ≤ max_interval_ms"
        )]
        let ms = wait as u64;
        Duration::from_millis(ms.min(limits::WAIT_MS_MAX))
    }

    /// Checks every bound.
    ///
    /// # Errors
    /// Returns the first field that is out of bounds, and its requirement.
    pub fn check(&self) -> Result<(), (&'static str, Words)> {
        if !(1..=limits::ATTEMPTS_MAX).contains(&self.max_attempts) {
            return Err(("max_attempts", Text::Between { low: &1, high: &100 }.into()));
        }
        if !(1.0..=10.0).contains(&self.backoff_factor) {
            return Err(("backoff_factor", Text::Between { low: &"1.0", high: &"10.0" }.into()));
        }
        if !(0.0..=1.0).contains(&self.jitter) {
            return Err(("jitter", Text::Between { low: &"0.0", high: &"1.0" }.into()));
        }
        if self.initial_interval_ms > limits::WAIT_MS_MAX {
            return Err(("initial_interval_ms", Text::AYear.into()));
        }
        if self.max_interval_ms > limits::WAIT_MS_MAX {
            return Err(("max_interval_ms", Text::AYear.into()));
        }
        Ok(())
    }
}

/// The policy for outages: the service of a model or a tool cannot be reached. Attempts during an
/// outage do not count as attempts of a [`RetryPolicy`]; the work waits for the service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OutagePolicy {
    /// Longest outage that a job without a deadline waits for, in milliseconds. A job with a
    /// deadline waits until its deadline. 0: no job waits, and an outage is a transient error.
    pub max_ms: u64,
    /// Wait before the second attempt, in milliseconds.
    pub initial_interval_ms: u64,
    /// Factor between consecutive waits (1.0 to 10.0).
    pub backoff_factor: f64,
    /// Maximum wait, in milliseconds.
    pub max_interval_ms: u64,
    /// Maximum number of attempts in one outage, the first included; unlimited when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
}

impl Default for OutagePolicy {
    /// Waits for seven days. With these intervals a week of outage is about 200 attempts, and each
    /// wait is about half as long as the outage has lasted, at most an hour.
    fn default() -> Self {
        Self {
            max_ms: 7 * 24 * 3600 * 1000,
            initial_interval_ms: 1_000,
            backoff_factor: 1.5,
            max_interval_ms: 3_600_000,
            max_attempts: None,
        }
    }
}

impl OutagePolicy {
    /// Creates a policy by which no job waits: an outage is a transient error.
    #[must_use]
    pub fn never() -> Self {
        Self { max_ms: 0, ..Self::default() }
    }

    /// Returns whether jobs wait for the end of an outage.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.max_ms > 0
    }

    /// Returns the wait after `failed` attempts of one outage, or `None` when no attempt is left.
    /// Equal seeds give equal waits, and whether an attempt is left does not depend on the seed.
    #[must_use]
    pub fn delay(&self, failed: Attempt, seed: u64) -> Option<Duration> {
        let is_left = self.max_attempts.is_none_or(|max| failed.0 < max);
        is_left.then(|| self.intervals().interval(failed, seed))
    }

    /// Checks every bound. The number of attempts is not bounded, so the intervals are: each
    /// attempt writes to the job's log.
    ///
    /// # Errors
    /// Returns the first field that is out of bounds, and its requirement.
    pub fn check(&self) -> Result<(), (&'static str, Words)> {
        let (second, year) = (1_000, limits::WAIT_MS_MAX);
        if self.max_ms > year {
            return Err(("max_ms", Text::AYear.into()));
        }
        if !(second..=year).contains(&self.initial_interval_ms) {
            return Err(("initial_interval_ms", Text::SecondToYear.into()));
        }
        if !(second..=year).contains(&self.max_interval_ms) {
            return Err(("max_interval_ms", Text::SecondToYear.into()));
        }
        if self.max_attempts.is_some_and(|max| !(1..=limits::ATTEMPTS_MAX).contains(&max)) {
            return Err(("max_attempts", Text::Between { low: &1, high: &100 }.into()));
        }
        self.intervals().check()
    }

    fn intervals(&self) -> RetryPolicy {
        RetryPolicy {
            initial_interval_ms: self.initial_interval_ms,
            backoff_factor: self.backoff_factor,
            max_interval_ms: self.max_interval_ms,
            ..RetryPolicy::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_week_of_outage_is_few_attempts_and_ends_soon_after_the_service_returns() {
        let policy = OutagePolicy::default();
        let (mut elapsed, mut attempts) = (Duration::ZERO, 0);
        while elapsed < Duration::from_millis(policy.max_ms) {
            attempts += 1;
            let wait = policy.delay(Attempt(attempts), u64::from(attempts)).unwrap();
            assert!(wait <= Duration::from_secs(3600), "{wait:?}");
            assert!(attempts < 4 || wait <= elapsed, "{wait:?} after {elapsed:?}");
            elapsed += wait;
        }
        assert!((150..300).contains(&attempts), "{attempts}");
    }

    #[test]
    fn waits_double_up_to_the_bound_and_then_end() {
        let policy = RetryPolicy {
            jitter: 0.0,
            max_attempts: 5,
            max_interval_ms: 1500,
            ..RetryPolicy::default()
        };
        let waits: Vec<_> =
            (1..=5).map(|n| policy.delay(Attempt(n), 7).map(|d| d.as_millis())).collect();
        assert_eq!(waits, [Some(500), Some(1000), Some(1500), Some(1500), None]);
    }

    #[test]
    fn jitter_only_ever_shortens_and_replays() {
        let policy = RetryPolicy { jitter: 0.5, ..RetryPolicy::default() };
        for seed in 0..200 {
            let wait = policy.delay(Attempt(1), seed).unwrap();
            assert!((250..=500).contains(&wait.as_millis()), "{wait:?}");
            assert_eq!(policy.delay(Attempt(1), seed), Some(wait));
        }
    }

    #[test]
    fn absurd_policies_are_named() {
        let bad = RetryPolicy { max_attempts: 1_000_000_000, ..RetryPolicy::default() };
        assert_eq!(bad.check().unwrap_err().0, "max_attempts");
        let bad = RetryPolicy { backoff_factor: f64::NAN, ..RetryPolicy::default() };
        assert_eq!(bad.check().unwrap_err().0, "backoff_factor");
    }
}
