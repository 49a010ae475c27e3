//! The submission quota: one token bucket per caller, refilled over a minute.
//!
//! Each process counts for itself: with three doors a caller may submit three times as much.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use broker::clock::Clock;
use proto::{
    error::{Code, Failure},
    refusal::Text,
};

/// The quota. Callers are configured users, so the number of buckets is bounded.
#[derive(Debug)]
pub(super) struct Quota {
    per_minute: Option<u32>,
    clock: Arc<dyn Clock>,
    buckets: Mutex<HashMap<String, Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: f64,
    filled: Duration,
}

impl Quota {
    pub(super) fn new(per_minute: Option<u32>, clock: Arc<dyn Clock>) -> Self {
        Self { per_minute, clock, buckets: Mutex::default() }
    }

    /// Counts one submission, or returns `overloaded` if the bucket is empty.
    pub(super) fn take(&self, caller: &str) -> Result<(), Failure> {
        let Some(per_minute) = self.per_minute else { return Ok(()) };
        let (most, now) = (f64::from(per_minute), self.clock.monotonic());
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket =
            buckets.entry(caller.to_owned()).or_insert(Bucket { tokens: most, filled: now });
        let passed = now.saturating_sub(bucket.filled).as_secs_f64();
        bucket.tokens = (bucket.tokens + passed * most / 60.0).min(most);
        bucket.filled = now;
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            return Ok(());
        }
        let wait = ((1.0 - bucket.tokens) * 60.0 / most).ceil();
        let why = Text::TooOften { count: &per_minute, wait: &wait };
        Err(Failure::of(Code::Overloaded, why))
    }
}

#[cfg(test)]
mod tests {
    use broker::testing::ManualClock;

    use super::*;

    #[test]
    fn a_caller_gets_so_many_a_minute_and_no_other_pays_for_it() {
        let clock = Arc::new(ManualClock::new(jiff::Timestamp::UNIX_EPOCH));
        let quota = Quota::new(Some(60), clock.clone());
        let taken = |caller: &str| (0..100).filter(|_| quota.take(caller).is_ok()).count();
        assert_eq!((taken("ann"), taken("bob"), taken("ann")), (60, 60, 0));
        let refused = quota.take("ann").unwrap_err();
        assert_eq!(refused.code, Code::Overloaded);
        assert!(refused.message.ends_with("retry in 1 s"), "{}", refused.message);
        clock.advance(Duration::from_secs(10));
        assert_eq!(taken("ann"), 10);
        clock.advance(Duration::from_secs(3600));
        assert_eq!(taken("ann"), 60);
    }

    #[test]
    fn without_a_limit_nothing_is_counted() {
        let quota = Quota::new(None, Arc::new(ManualClock::new(jiff::Timestamp::UNIX_EPOCH)));
        assert!((0..10_000).all(|_| quota.take("ann").is_ok()));
    }
}
