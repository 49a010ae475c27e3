//! Retries while the front door is briefly unserved, because processes restart.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use broker::backoff::Backoff;
use tokio::time::Instant;

/// Between two requests to a front door that nobody serves.
const BACKOFF: Backoff = Backoff::doubling(Duration::from_millis(100), Duration::from_secs(1));

/// Whether a door that nobody serves is asked again, and who is told that it is.
#[derive(Clone)]
pub struct Patience {
    tell: Arc<dyn Fn(&str) + Send + Sync>,
    told: Arc<AtomicBool>,
}

impl std::fmt::Debug for Patience {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Patience").field("told", &self.told).finish_non_exhaustive()
    }
}

impl Patience {
    /// `tell` is called once, however many requests wait.
    pub fn new(tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { tell: Arc::new(tell), told: Arc::default() }
    }

    /// Waits before the next try; false when there is no time for one.
    pub(super) async fn next(
        &self,
        verb: &str,
        began: Instant,
        total: Duration,
        tries: u32,
    ) -> bool {
        let left = total.saturating_sub(began.elapsed());
        if left.is_zero() {
            return false;
        }
        if !self.told.swap(true, Ordering::Relaxed) {
            let seconds = total.as_secs_f64();
            let words = format!("no responders for `{verb}` yet; retrying for up to {seconds} s");
            tracing::warn!(verb, ?total, "no responders yet; retrying");
            (self.tell)(&words);
        }
        tokio::time::sleep(BACKOFF.after(tries).min(left)).await;
        true
    }
}
