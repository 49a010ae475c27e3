//! The retry policy for requests while no process serves the front door, for example during a
//! restart.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use broker::backoff::Backoff;
use tokio::time::Instant;

/// Wait between two requests.
const BACKOFF: Backoff = Backoff::doubling(Duration::from_millis(100), Duration::from_secs(1));

/// The retry policy, with a callback that reports the first retry.
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
    /// Creates a policy. `tell` is called at the first retry, once for all requests.
    pub fn new(tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { tell: Arc::new(tell), told: Arc::default() }
    }

    /// Waits before the next attempt and returns `true`, or returns `false` if the total time is
    /// used up.
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
            let words = format!("nobody serves `{verb}` yet; asking again for up to {seconds} s");
            tracing::warn!(verb, ?total, "nobody serves it yet; asking again");
            (self.tell)(&words);
        }
        tokio::time::sleep(BACKOFF.after(tries).min(left)).await;
        true
    }
}
