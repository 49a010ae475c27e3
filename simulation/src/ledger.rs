//! The ledger of tool effects in the world outside Callboard. It is the only evidence of effects
//! that no log records.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proto::{
    id::{Attempt, JobId, ToolName, WorkId},
    tool::Effect,
};
use tokio::time::Instant;

use crate::link::Link;

/// The runs of all tools. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger(Arc<Mutex<Vec<Run>>>);

/// One run of a tool.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) job: JobId,
    pub(crate) work: WorkId,
    pub(crate) attempt: Attempt,
    pub(crate) tool: ToolName,
    pub(crate) effect: Effect,
    pub(crate) key: String,
    /// The link of the process that ran the tool.
    pub(crate) link: Arc<Link>,
    pub(crate) began: Instant,
    /// Since when the process had been running and connected at that time; `None` when it was not.
    pub(crate) up_since: Option<Instant>,
    /// The time of the effect; `None` when it did not happen.
    pub(crate) effect_at: Option<Instant>,
    /// The time at which the run ended; `None` while it continues.
    pub(crate) over: Option<Instant>,
}

/// A run in progress. Dropping it records the end of the run.
#[derive(Debug)]
pub(crate) struct Running {
    ledger: Ledger,
    at: usize,
}

impl Ledger {
    /// Records the beginning of a run.
    pub(crate) fn begin(&self, run: Run) -> Running {
        let mut runs = self.lock();
        runs.push(run);
        Running { ledger: self.clone(), at: runs.len() - 1 }
    }

    /// Returns all runs so far, in the order in which they began.
    pub(crate) fn runs(&self) -> Vec<Run> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Run>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A handle that records the effect of a run. It may outlive the run.
#[derive(Debug)]
pub(crate) struct Hand {
    ledger: Ledger,
    at: usize,
}

impl Running {
    /// Returns the handle that records the effect.
    pub(crate) fn hand(&self) -> Hand {
        Hand { ledger: self.ledger.clone(), at: self.at }
    }
}

impl Hand {
    /// Records the effect at the current time.
    pub(crate) fn effect(&self) {
        self.ledger.lock()[self.at].effect_at = Some(Instant::now());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.ledger.lock()[self.at].over = Some(Instant::now());
    }
}
