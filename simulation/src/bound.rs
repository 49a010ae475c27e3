//! The bound of a world's messages. A world that never ends must fail, and report its last actions.
//!
//! The bound counts messages and not time, because time is paused while tasks are busy. An endless
//! loop without messages is not detected here, but ended by the timeout of the test run.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio_util::sync::CancellationToken;

/// Bound of the messages of a world: fifty times what most worlds need.
const MESSAGES_MAX: u64 = 200_000;

/// The number of last actions in the report.
const TOLD: usize = 10;

/// The message counter of a world. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Bound {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    most: u64,
    sent: AtomicU64,
    last: Mutex<VecDeque<String>>,
    reached: CancellationToken,
}

impl Default for Bound {
    fn default() -> Self {
        Self::of(MESSAGES_MAX)
    }
}

impl Bound {
    /// Creates a bound of `most` messages.
    pub(crate) fn of(most: u64) -> Self {
        let shared = Shared {
            most,
            sent: AtomicU64::new(0),
            last: Mutex::default(),
            reached: CancellationToken::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Counts one message.
    pub(crate) fn count(&self) {
        if self.shared.sent.fetch_add(1, Ordering::Relaxed) >= self.shared.most {
            self.shared.reached.cancel();
        }
    }

    /// Records an action for the report. Only the actions close to the bound are kept.
    pub(crate) fn note(&self, what: impl FnOnce() -> String) {
        let near = self.shared.most.saturating_sub(1_000);
        if self.shared.sent.load(Ordering::Relaxed) < near {
            return;
        }
        let mut last = self.shared.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.len() == TOLD {
            last.pop_front();
        }
        last.push_back(what());
    }

    /// Waits until the bound is exceeded, and returns the report.
    pub(crate) async fn reached(&self) -> String {
        self.shared.reached.cancelled().await;
        let last = self.shared.last.lock().unwrap_or_else(PoisonError::into_inner);
        let last = last.iter().map(String::as_str).collect::<Vec<_>>().join("; ");
        format!("it does not end within {} messages; at the last: {last}", self.shared.most)
    }

    /// Returns the number of messages so far.
    pub(crate) fn sent(&self) -> u64 {
        self.shared.sent.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_world_that_does_not_end_is_told_with_what_it_did_last() {
        let bound = Bound::of(3);
        (0..4).for_each(|n| {
            bound.note(|| format!("message {n}"));
            bound.count();
        });
        let told = bound.reached().await;
        assert_eq!(bound.sent(), 4);
        assert!(told.contains("within 3 messages") && told.ends_with("message 3"), "{told}");
    }
}
