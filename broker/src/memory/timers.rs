//! Timers, and the task that appends their records when due.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use bytes::Bytes;
use jiff::Timestamp;
use proto::{
    fact::Source,
    id::{JobId, Shard, TimerName},
    subject::{Family, Subjects},
    trace::TraceContext,
};
use tokio::{sync::Notify, task::AbortHandle};

use super::{TimerFault, state::Shared};
use crate::log::{Armed, ObjectRefs};

/// Longest sleep: the time of day may jump, and the machine may have slept.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// Pause before a due timer that could not be stored is retried.
const RETRY: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub(super) struct Timer {
    /// Earliest time of the append.
    pub at: Timestamp,
    /// The encoded record to append.
    pub payload: Bytes,
    /// Trace context of the record.
    pub trace: TraceContext,
}

type Name = (JobId, TimerName);

#[derive(Debug, Default)]
pub(super) struct Timers {
    by_name: BTreeMap<Name, Timer>,
    by_time: BTreeSet<(Timestamp, Name)>,
}

impl Timers {
    /// Arms a timer; replaces one of the same name.
    pub(super) fn arm(&mut self, job: &JobId, name: &TimerName, timer: Timer) {
        self.disarm(job, name);
        let name = (job.clone(), name.clone());
        self.by_time.insert((timer.at, name.clone()));
        self.by_name.insert(name, timer);
    }

    /// Collects the names of large values in a shard's timers.
    pub(super) fn mentions(&self, subjects: &Subjects, shard: Shard) -> Vec<ObjectRefs> {
        let there = self.by_name.iter().filter(|((job, _), _)| subjects.shard_of(job) == shard);
        let mention =
            |((job, _), timer): (&Name, &Timer)| ObjectRefs::of(Some(job.clone()), &timer.payload);
        there.map(mention).collect()
    }

    pub(super) fn disarm(&mut self, job: &JobId, name: &TimerName) {
        let name = (job.clone(), name.clone());
        if let Some(timer) = self.by_name.remove(&name) {
            self.by_time.remove(&(timer.at, name));
        }
    }

    pub(super) fn purge(&mut self, job: &JobId) {
        self.by_name.retain(|(j, _), _| j != job);
        self.by_time.retain(|(_, (j, _))| j != job);
    }

    /// Returns the armed timers of one job.
    pub(super) fn of(&self, job: &JobId) -> BTreeSet<TimerName> {
        let own = self.by_name.keys().filter(|(owner, _)| owner == job);
        own.map(|(_, timer)| timer.clone()).collect()
    }

    pub(super) fn all(&self) -> Vec<Armed> {
        let armed = |(job, timer): &Name| Armed { job: job.clone(), timer: timer.clone() };
        self.by_name.keys().map(armed).collect()
    }

    fn next(&self) -> Option<Timestamp> {
        self.by_time.first().map(|(at, _)| *at)
    }

    fn pop_due(&mut self, now: Timestamp) -> Option<(Name, Timer)> {
        if self.next()? > now {
            return None;
        }
        let (_, name) = self.by_time.pop_first()?;
        let timer = self.by_name.remove(&name)?;
        Some((name, timer))
    }
}

/// The task that appends due records; it starts with the first timer and ends with the
/// installation.
#[derive(Debug, Default)]
pub(super) struct TimerTask {
    wake: Arc<Notify>,
    running: OnceLock<AbortHandle>,
}

impl TimerTask {
    /// Makes the task read the timers again.
    pub(super) fn wake(&self, shared: &Arc<Shared>) {
        self.running.get_or_init(|| {
            tokio::spawn(run(Arc::downgrade(shared), Arc::clone(&self.wake))).abort_handle()
        });
        self.wake.notify_one();
    }
}

impl Drop for TimerTask {
    fn drop(&mut self) {
        if let Some(task) = self.running.get() {
            task.abort();
        }
    }
}

async fn run(shared: Weak<Shared>, wake: Arc<Notify>) {
    loop {
        let wait = {
            let Some(shared) = shared.upgrade() else { return };
            fire(&shared)
        };
        // After a notification or a timeout alike, the timers are read again.
        let _ = tokio::time::timeout(wait, wake.notified()).await;
    }
}

/// Appends the due records and returns the time until the next timer.
fn fire(shared: &Shared) -> Duration {
    let mut state = shared.lock();
    let faults = &shared.options.faults;
    let now = shared.options.clock.now();
    loop {
        if state.timers.next().is_some_and(|at| at <= now) && (state.is_full() || faults.is_down())
        {
            return RETRY;
        }
        let Some(((job, _), timer)) = state.timers.pop_due(now) else { break };
        let times = match faults.take_timer() {
            None => 1,
            Some(TimerFault::Twice) => 2,
            Some(TimerFault::Never) => 0,
        };
        for _ in 0..times {
            let payload = timer.payload.clone();
            state.append(shared, &job, Family::In(Source::Clock), payload, Some(timer.trace));
        }
    }
    let left = state.timers.next().map(|at| at.duration_since(now));
    // One millisecond of margin: waking a moment too early would spin.
    left.map_or(LOOK_AGAIN, |left| {
        Duration::try_from(left).unwrap_or_default().saturating_add(Duration::from_millis(1))
    })
    .min(LOOK_AGAIN)
}
