//! The job's own timers: its deadline, its waits, and timers that fired too early or were orphaned.

use std::collections::BTreeSet;

use proto::id::{Generation, TimerName};

use crate::names;

/// The bookkeeping of timers that belong to no unit of work.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timers {
    deadline_passed: bool,
    /// Number of waits so far, from which the next one is named.
    waits: u32,
    /// Timers that fired before their decision was stored. A timer is armed first, and the write
    /// took longer than the timer ran.
    early: BTreeSet<TimerName>,
    /// Timers that are no longer needed; each later decision cancels one.
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

    /// Returns the name of the next wait's timer.
    pub(crate) fn next_retry(&self, generation: Generation) -> TimerName {
        names::retry_timer(generation, self.waits.saturating_add(1))
    }

    pub(crate) fn fired_early(&mut self, timer: TimerName) {
        self.early.insert(timer);
    }

    /// Removes the timer from the early ones and returns `true` if it had fired before its decision
    /// was stored.
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

    /// Removes the first orphan, which the write of the stored decision canceled.
    pub(crate) fn canceled_one(&mut self) {
        if !self.orphans.is_empty() {
            self.orphans.remove(0);
        }
    }

    pub(crate) fn replace_orphans(&mut self, orphans: Vec<TimerName>) {
        self.orphans = orphans;
    }
}
