//! The story of a world, for the developer who examines a failed seed. Nothing depends on the
//! story, and its lines are kept only on request.

use std::{
    collections::BTreeMap,
    fmt::Display,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// The number of occurrences of each event, in one world or several.
pub(crate) type Counts = BTreeMap<&'static str, u64>;

/// The lines of a story, and the counts of events. Clones share both.
#[derive(Debug, Clone)]
pub(crate) struct Story {
    start: Instant,
    counts: Arc<Mutex<Counts>>,
    lines: Option<Arc<Mutex<Vec<Line>>>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// The time since the world began.
    pub(crate) at: Duration,
    /// The process, job or group that acts.
    pub(crate) who: String,
    pub(crate) what: String,
}

impl Story {
    /// Creates a story that begins now. Its lines are kept if it is `wanted`.
    pub(crate) fn begin(wanted: bool) -> Self {
        Self { start: Instant::now(), counts: Arc::default(), lines: wanted.then(Arc::default) }
    }

    /// Returns the time since the world began.
    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Returns whether lines are kept.
    pub(crate) fn is_wanted(&self) -> bool {
        self.lines.is_some()
    }

    pub(crate) fn tell(&self, who: impl Display, what: impl FnOnce() -> String) {
        if let Some(lines) = &self.lines {
            let line = Line { at: self.now(), who: who.to_string(), what: what() };
            lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    }

    /// Counts several occurrences of an event.
    pub(crate) fn add(&self, what: &'static str, times: u64) {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(what).or_default() +=
            times;
    }

    pub(crate) fn count(&self, what: &'static str) {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(what).or_default() += 1;
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the lines out of the story.
    pub(crate) fn lines(&self) -> Vec<Line> {
        let take = |lines: &Arc<Mutex<Vec<Line>>>| {
            std::mem::take(&mut *lines.lock().unwrap_or_else(PoisonError::into_inner))
        };
        self.lines.as_ref().map(take).unwrap_or_default()
    }
}
