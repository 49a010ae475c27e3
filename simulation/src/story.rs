//! What happened in a world, for the person who reads why a seed failed. Nothing depends on it, and
//! nothing is kept when nobody wants to read it.

use std::{
    collections::BTreeMap,
    fmt::Display,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// How often what happened, over one world or many.
pub(crate) type Counts = BTreeMap<&'static str, u64>;

/// Lines of a story, each with its time since the world began. Clones write the same one.
#[derive(Debug, Clone)]
pub(crate) struct Story {
    start: Instant,
    counts: Arc<Mutex<Counts>>,
    lines: Option<Arc<Mutex<Vec<Line>>>>,
}

/// One line.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// When, since the world began.
    pub(crate) at: Duration,
    /// Who or what.
    pub(crate) who: String,
    /// What happened.
    pub(crate) what: String,
}

impl Story {
    /// A story that begins now, kept if it is `wanted`.
    pub(crate) fn begin(wanted: bool) -> Self {
        Self { start: Instant::now(), counts: Arc::default(), lines: wanted.then(Arc::default) }
    }

    /// Time since it began.
    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Whether anybody wants to read it.
    pub(crate) fn is_wanted(&self) -> bool {
        self.lines.is_some()
    }

    /// Adds a line.
    pub(crate) fn tell(&self, who: impl Display, what: impl FnOnce() -> String) {
        if let Some(lines) = &self.lines {
            let line = Line { at: self.now(), who: who.to_string(), what: what() };
            lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    }

    /// Counts something that happened so often.
    pub(crate) fn add(&self, what: &'static str, times: u64) {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(what).or_default() +=
            times;
    }

    /// Counts something.
    pub(crate) fn count(&self, what: &'static str) {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(what).or_default() += 1;
    }

    /// What was counted.
    pub(crate) fn counts(&self) -> Counts {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the lines out.
    pub(crate) fn lines(&self) -> Vec<Line> {
        let take = |lines: &Arc<Mutex<Vec<Line>>>| {
            std::mem::take(&mut *lines.lock().unwrap_or_else(PoisonError::into_inner))
        };
        self.lines.as_ref().map(take).unwrap_or_default()
    }
}
