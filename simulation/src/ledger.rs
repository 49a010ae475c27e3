//! What tools did to the world outside, as that world remembers it: the one witness of effects that
//! no log can vouch for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proto::{
    id::{Attempt, JobId, ToolName, WorkId},
    tool::Effect,
};
use tokio::time::Instant;

use crate::link::Link;

/// The runs of all tools. Clones are one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger(Arc<Mutex<Vec<Run>>>);

/// One run of a tool.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    /// The job.
    pub(crate) job: JobId,
    /// The unit of work.
    pub(crate) work: WorkId,
    /// The try.
    pub(crate) attempt: Attempt,
    /// The tool.
    pub(crate) tool: ToolName,
    /// What a repeat of it does.
    pub(crate) effect: Effect,
    /// The key it was given.
    pub(crate) key: String,
    /// The link of the process that ran it.
    pub(crate) link: Arc<Link>,
    /// When it began.
    pub(crate) began: Instant,
    /// Since when its process ran and reached the broker when it began, if it did.
    pub(crate) up_since: Option<Instant>,
    /// When its effect came to pass.
    pub(crate) effect_at: Option<Instant>,
    /// When it was over.
    pub(crate) over: Option<Instant>,
}

/// A run that goes on; over when it is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    ledger: Ledger,
    at: usize,
}

impl Ledger {
    /// A run begins.
    pub(crate) fn begin(&self, run: Run) -> Running {
        let mut runs = self.lock();
        runs.push(run);
        Running { ledger: self.clone(), at: runs.len() - 1 }
    }

    /// All runs so far, in the order in which they began.
    pub(crate) fn runs(&self) -> Vec<Run> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Run>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What brings the effect of a run about, wherever it is.
#[derive(Debug)]
pub(crate) struct Hand {
    ledger: Ledger,
    at: usize,
}

impl Running {
    /// What brings its effect about.
    pub(crate) fn hand(&self) -> Hand {
        Hand { ledger: self.ledger.clone(), at: self.at }
    }
}

impl Hand {
    /// The effect happens.
    pub(crate) fn effect(&self) {
        self.ledger.lock()[self.at].effect_at = Some(Instant::now());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.ledger.lock()[self.at].over = Some(Instant::now());
    }
}
