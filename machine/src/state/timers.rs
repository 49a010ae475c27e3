//! The job's own timers: its deadline, waits, and timers that came too early or too late.

use std::collections::BTreeSet;

use proto::id::{Generation, TimerName};

use crate::names;

/// The bookkeeping of timers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timers {
    deadline_passed: bool,
    /// Waits so far: numbers the next one.
    waits: u32,
    /// Timers that fired before the decision they are for was stored: it was armed first, and storing
    /// the decision took longer than the timer ran.
    early: BTreeSet<TimerName>,
    /// Timers that nothing waits for any more; canceled with the decisions that follow.
    orphans: Vec<TimerName>,
}

impl Timers {
    pub(crate) fn has_deadline_passed(&self) -> bool {
        self.deadline_passed
    }

    pub(crate) fn pass_deadline(&mut self) {
        self.deadline_passed = true;
    }

    pub(crate) fn waits(&self) -> u32 {
        self.waits
    }

    pub(crate) fn count_wait(&mut self) {
        self.waits = self.waits.saturating_add(1);
    }

    /// The timer of the next wait.
    pub(crate) fn next_retry(&self, generation: Generation) -> TimerName {
        names::retry_timer(generation, self.waits.saturating_add(1))
    }

    pub(crate) fn fired_early(&mut self, timer: TimerName) {
        self.early.insert(timer);
    }

    /// Whether the timer of a decision that is now stored had fired before.
    pub(crate) fn take_early(&mut self, timer: &TimerName) -> bool {
        self.early.remove(timer)
    }

    pub(crate) fn forget_early(&mut self) {
        self.early.clear();
    }

    pub(crate) fn orphans(&self) -> &[TimerName] {
        &self.orphans
    }

    pub(crate) fn orphan(&mut self, timers: impl IntoIterator<Item = TimerName>) {
        self.orphans.extend(timers);
    }

    /// A decision was stored. Its write canceled the first orphan.
    pub(crate) fn canceled_one(&mut self) {
        if !self.orphans.is_empty() {
            self.orphans.remove(0);
        }
    }

    pub(crate) fn replace_orphans(&mut self, orphans: Vec<TimerName>) {
        self.orphans = orphans;
    }
}
