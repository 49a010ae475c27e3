//! The census of a shard: the number of jobs in each state, and the questions that have waited
//! longest. A walk through the shard counts once, every activation updates the figures, and each
//! sweep counts again to correct drift. The memory is bounded, however many jobs there are.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak},
};

use broker::log::ShardLoad;
use machine::{Job, JobStatus};
use opentelemetry::KeyValue;
use proto::{
    id::{Seq, Shard},
    wire::Pulse,
};
use runtime::telemetry::{self, keys};

use super::{Labels, changed::Changed, figures::Figures, load, walk::Walk};

/// The figures of one shard.
#[derive(Debug)]
pub(in crate::actors) struct Census {
    labels: Labels,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    now: Figures,
    /// Walk in progress.
    walk: Option<Walk>,
    /// Changes since the last pulse, while somebody reads pulses.
    changed: Option<Changed>,
    load: Option<ShardLoad>,
    /// Result of the last write probe.
    is_writable: Option<bool>,
    storage: Option<broker::log::Storage>,
}

impl Census {
    /// Creates an empty census, which is exported until it is dropped.
    pub(in crate::actors) fn open(shard: Shard, labels: Labels) -> Arc<Self> {
        OBSERVED.call_once(|| {
            observe();
            load::observe();
        });
        let census = Arc::new(Self { labels, inner: Mutex::default() });
        shown().insert(shard, Arc::downgrade(&census));
        census
    }

    #[cfg(test)]
    pub(super) fn figures<T>(&self, of: impl FnOnce(&Figures) -> T) -> T {
        of(&self.lock().now)
    }

    #[cfg(test)]
    pub(in crate::actors) fn is_shown(shard: Shard) -> bool {
        shown().get(&shard).is_some_and(|census| census.strong_count() > 0)
    }

    /// Applies the change of a job's status by an activation.
    pub(super) fn moved(&self, job: &Job, before: Option<&JobStatus>, now: &JobStatus) {
        let mut inner = self.lock();
        inner.now.moves(job.id(), job.first(), before, now, &self.labels);
        if let Some(walk) = &mut inner.walk {
            walk.moved(job, before, now, &self.labels);
        }
        if let Some(changed) = &mut inner.changed {
            changed.add(job.id());
        }
    }

    /// Remembers which jobs change, for pulses, or no longer.
    pub(in crate::actors) fn remember_changes(&self, is_asked: bool) {
        self.lock().changed = is_asked.then(Changed::default);
    }

    /// Returns the pulse of the changes since the last one, if there are any or it is due.
    pub(in crate::actors) fn pulse(&self, shard: Shard, is_due: bool) -> Option<Pulse> {
        let mut inner = self.lock();
        let Inner { now, changed, .. } = &mut *inner;
        changed.as_mut()?.pulse(shard, now, is_due)
    }

    /// Starts a walk.
    pub(in crate::actors) fn begin(&self) {
        self.lock().walk = Some(Walk::new());
    }

    /// Announces that the walk reads the jobs submitted from `oldest` to `newest` next.
    pub(in crate::actors) fn turn(&self, newest: Seq, oldest: Seq) {
        if let Some(walk) = &mut self.lock().walk {
            walk.turn(newest, oldest, &self.labels);
        }
    }

    /// Counts an open job that the walk has read.
    pub(in crate::actors) fn passed(&self, job: &Job) {
        if let Some(walk) = &mut self.lock().walk {
            walk.passed(job);
        }
    }

    /// Ends the walk; its figures replace the current ones.
    pub(in crate::actors) fn finish(&self) {
        let mut inner = self.lock();
        if let Some(walk) = inner.walk.take() {
            inner.now = walk.finish(&self.labels);
        }
    }

    pub(super) fn set_load(&self, load: ShardLoad) {
        self.lock().load = Some(load);
    }

    pub(super) fn set_writable(&self, is_writable: bool) {
        self.lock().is_writable = Some(is_writable);
    }

    pub(super) fn set_storage(&self, storage: broker::log::Storage) {
        self.lock().storage = Some(storage);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A poisoned lock is used anyway: metrics must not make an activation panic.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Shown = BTreeMap<Shard, Weak<Census>>;

/// Censuses to export. Static, because instruments live as long as the process.
static SHOWN: Mutex<Shown> = Mutex::new(BTreeMap::new());

/// Guards the registration of gauges. It does not happen under the lock of [`SHOWN`]: a scrape
/// takes that lock while it holds a lock of the instruments, which registration takes too.
static OBSERVED: Once = Once::new();

fn shown() -> MutexGuard<'static, Shown> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `show` for each owned shard with its number, its load and the account's storage.
pub(super) fn each_load(mut show: impl FnMut(KeyValue, &ShardLoad, Option<broker::log::Storage>)) {
    each(|shard, inner| {
        if let Some(load) = &inner.load {
            show(shard, load, inner.storage);
        }
    });
}

/// Calls `show` for each owned shard that was probed, with its number.
pub(super) fn each_writable(mut show: impl FnMut(KeyValue, bool)) {
    each(|shard, inner| {
        if let Some(is_writable) = inner.is_writable {
            show(shard, is_writable);
        }
    });
}

fn each(mut show: impl FnMut(KeyValue, &Inner)) {
    let mut all = shown();
    all.retain(|_, census| census.strong_count() > 0);
    for (shard, census) in all.iter() {
        if let Some(census) = census.upgrade() {
            let shard = KeyValue::new(keys::SHARD, i64::from(shard.0));
            show(shard, &census.lock());
        }
    }
}

fn observe() {
    let meter = telemetry::meter();
    let _ = meter
        .i64_observable_gauge("callboard.jobs.open")
        .with_description("Jobs that have not ended.")
        .with_callback(|seen| {
            each(|shard, inner| {
                for ((agent, state, status), count) in &inner.now.jobs {
                    let attributes = [
                        KeyValue::new(keys::GEN_AI_AGENT_NAME, agent.clone()),
                        KeyValue::new(keys::JOB_STATE, *state),
                        KeyValue::new(keys::JOB_STATUS, *status),
                        shard.clone(),
                    ];
                    seen.observe((*count).max(0), &attributes);
                }
            });
        })
        .build();
    let _ = meter
        .i64_observable_gauge("callboard.questions.open")
        .with_description("Questions that wait for a person.")
        .with_callback(|seen| {
            each(|shard, inner| seen.observe(inner.now.questions.max(0), &[shard]));
        })
        .build();
    let _ = meter
        .f64_observable_gauge("callboard.questions.oldest.age")
        .with_unit("s")
        .with_description("How long the oldest open question has waited.")
        .with_callback(|seen| {
            each(|shard, inner| {
                seen.observe(load::age(inner.now.oldest()), &[shard]);
            });
        })
        .build();
}
