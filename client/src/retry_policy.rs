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
use proto::door::Verb;
use tokio::time::Instant;

/// Between two requests that no process serves.
const BACKOFF: Backoff = Backoff::doubling(Duration::from_millis(100), Duration::from_secs(1));

/// The retries of requests that no process serves, for as long as a client waits for a reply.
#[derive(Clone, derive_more::Debug)]
#[debug("RetryPolicy({reported:?})")]
pub struct RetryPolicy {
    report: Arc<dyn Fn(Verb, Duration) + Send + Sync>,
    reported: Arc<AtomicBool>,
}

impl RetryPolicy {
    /// Calls `report` with the verb and the total time of its retries before the first retry, once
    /// for all requests.
    pub fn new(report: impl Fn(Verb, Duration) + Send + Sync + 'static) -> Self {
        Self { report: Arc::new(report), reported: Arc::default() }
    }

    /// Waits before the next attempt; false when no time is left for one.
    pub(super) async fn next(
        &self,
        verb: Verb,
        began: Instant,
        total: Duration,
        tries: u32,
    ) -> bool {
        let left = total.saturating_sub(began.elapsed());
        if left.is_zero() {
            return false;
        }
        if !self.reported.swap(true, Ordering::Relaxed) {
            tracing::warn!(%verb, ?total, "no responders yet; retrying");
            (self.report)(verb, total);
        }
        tokio::time::sleep(BACKOFF.after(tries).min(left)).await;
        true
    }
}
