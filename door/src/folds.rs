//! The memory of folds of open jobs, so that a list or a view reads what was appended and not every
//! log from its beginning.
//!
//! The log decides whether a fold still holds: the last record that it is made of is read again,
//! together with those that follow. If it is another one, as after a restore of a backup, the whole log is folded.

use std::sync::Arc;

use broker::log::{Latest, Reader};
use machine::Job;
use proto::{
    entry::Entry,
    error::Failure,
    id::{JobId, Seq},
};
use quick_cache::{
    DefaultHashBuilder, OptionsBuilder, Weighter,
    sync::{Cache, DefaultLifecycle},
};

use super::fold;

/// Bound of the weights of all remembered folds together, in bytes.
const BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Least weight of a fold, in bytes.
const BYTES_MIN: u64 = 4 * 1024;
/// Weight of each record beside the view, in bytes: a fold also holds places of the log.
const RECORD_BYTES: u64 = 64;

/// Folds of open jobs, each with the last record that it is made of. Clones share the memory.
#[derive(Debug, Clone)]
pub(super) struct Folds(Arc<Cache<JobId, Arc<Folded>, Bytes>>);

/// A fold of a job's log.
#[derive(Debug)]
pub(super) struct Folded {
    /// The job.
    pub(super) job: Job,
    /// The last record.
    pub(super) last: Latest,
    records: u64,
    bytes: u64,
}

impl Folded {
    fn new(job: Job, last: Latest, records: u64) -> Self {
        let view = job.view().and_then(|view| serde_json::to_vec(&view).ok()).unwrap_or_default();
        let bytes = view.len() as u64 + records * RECORD_BYTES;
        Self { job, last, records, bytes }
    }
}

/// The fold of a job, as far as there is one.
#[derive(Debug)]
pub(super) enum Found {
    /// The job was never stored, or was purged.
    Missing,
    /// The job was folded.
    Folded(Arc<Folded>),
    /// The fold of the log broke.
    Broken(Failure),
}

/// Weighs a fold by its view, because the fold itself has no size.
#[derive(Debug, Clone)]
struct Bytes;

impl Weighter<JobId, Arc<Folded>> for Bytes {
    fn weight(&self, _job: &JobId, folded: &Arc<Folded>) -> u64 {
        folded.bytes.max(BYTES_MIN)
    }
}

impl Default for Folds {
    fn default() -> Self {
        let jobs = usize::try_from(BYTES_MAX / BYTES_MIN).unwrap_or(usize::MAX);
        let mut options = OptionsBuilder::new();
        // With more shards, each would refuse the large folds for which the memory is worth most.
        options.estimated_items_capacity(jobs).weight_capacity(BYTES_MAX).shards(1);
        let options = options.build().expect("the capacities are given");
        let (hashes, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
        Self(Arc::new(Cache::with_options(options, Bytes, hashes, lifecycle)))
    }
}

impl Folds {
    /// Returns the fold of a job up to its last record.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub(super) async fn job(&self, log: &dyn Reader, id: &JobId) -> Result<Found, Failure> {
        let known = match self.0.get(id) {
            Some(known) => continued(log, id, known).await?,
            None => None,
        };
        let found = match known {
            Some(folded) => Found::Folded(folded),
            None => of_whole_log(log, id).await?,
        };
        match &found {
            Found::Folded(folded) if may_be_kept(&folded.job) => {
                self.0.insert(id.clone(), Arc::clone(folded));
            }
            Found::Folded(_) | Found::Missing | Found::Broken(_) => _ = self.0.remove(id),
        }
        Ok(found)
    }
}

/// `false` for an ended job, because lists remember its row, and for one with an unreadable record,
/// which may be mended in its place.
fn may_be_kept(job: &Job) -> bool {
    job.outcome().is_none() && job.poison().is_none()
}

/// Folds what follows; `None` if the log has no longer the record that the fold ends with.
async fn continued(
    log: &dyn Reader,
    id: &JobId,
    known: Arc<Folded>,
) -> Result<Option<Arc<Folded>>, Failure> {
    let entries = log.read(id, Seq(known.last.seq.0.saturating_sub(1))).await?;
    let [first, further @ ..] = entries.as_slice() else { return Ok(None) };
    if place(first) != known.last {
        return Ok(None);
    }
    let Some(last) = further.last() else { return Ok(Some(known)) };
    let mut job = known.job.clone();
    let records = known.records + further.len() as u64;
    // The fold of the whole log repeats and reports a failure.
    let taken = fold::more(log, &mut job, further).await.is_ok();
    Ok(taken.then(|| Arc::new(Folded::new(job, place(last), records))))
}

async fn of_whole_log(log: &dyn Reader, id: &JobId) -> Result<Found, Failure> {
    let entries = log.read(id, Seq(0)).await?;
    let Some(last) = entries.last() else { return Ok(Found::Missing) };
    Ok(match fold::whole(id, &entries) {
        Ok(job) => {
            let folded = Folded::new(job, place(last), entries.len() as u64);
            Found::Folded(Arc::new(folded))
        }
        Err(failure) => Found::Broken(failure),
    })
}

fn place(entry: &Entry) -> Latest {
    Latest { seq: entry.seq, time: entry.time }
}

#[cfg(test)]
mod tests {
    use broker::{
        memory::MemoryOptions,
        testing::jobs::{Jobs, submitted},
    };
    use proto::fact::{Fact, Signal, Signaled};

    use super::*;

    async fn folded(folds: &Folds, jobs: &Jobs, id: &JobId) -> Arc<Folded> {
        match folds.job(&*jobs.broker.log, id).await.unwrap() {
            Found::Folded(folded) => folded,
            other @ (Found::Missing | Found::Broken(_)) => panic!("{other:?}"),
        }
    }

    /// Returns the view of the job, which must be that of a fold from the first record.
    async fn agreed(folds: &Folds, jobs: &Jobs, id: &JobId) -> String {
        let remembered = folded(folds, jobs, id).await;
        let Found::Folded(whole) = of_whole_log(&*jobs.broker.log, id).await.unwrap() else {
            panic!()
        };
        let view = |folded: &Folded| serde_json::to_string(&folded.job.view()).unwrap();
        assert_eq!(view(&remembered), view(&whole));
        assert_eq!((remembered.last, remembered.records), (whole.last, whole.records));
        view(&remembered)
    }

    fn signal(signal: Signal) -> Fact {
        Fact::Signaled(Signaled { signal, reason: None, by: None, parent_seq: None })
    }

    #[tokio::test]
    async fn a_remembered_fold_is_that_of_the_whole_log_after_every_record() {
        let (_memory, jobs) = Jobs::in_memory(1, MemoryOptions::default());
        let (folds, id) = (Folds::default(), jobs.submit("j", submitted("goal")).await);
        agreed(&folds, &jobs, &id).await;
        let mut last = Seq(1);
        let mut views = Vec::new();
        for fact in [
            signal(Signal::Pause),
            signal(Signal::Steer { text: "in French".to_owned() }),
            signal(Signal::Resume),
        ] {
            last = jobs.append(&id, fact).await;
            views.push(agreed(&folds, &jobs, &id).await);
        }
        let back = Signal::RollBack { to: Seq(last.0 - 2), seen: last, again: false };
        jobs.append(&id, signal(back)).await;
        let after = agreed(&folds, &jobs, &id).await;
        assert!(after.contains("\"paused\"") && !views[2].contains("\"paused\""), "{after}");
        jobs.append(&id, signal(Signal::Resume)).await;
        agreed(&folds, &jobs, &id).await;
    }

    #[tokio::test]
    async fn a_job_without_new_records_is_not_folded_again() {
        let (_memory, jobs) = Jobs::in_memory(1, MemoryOptions::default());
        let (folds, id) = (Folds::default(), jobs.submit("j", submitted("goal")).await);
        let first = folded(&folds, &jobs, &id).await;
        assert!(Arc::ptr_eq(&first, &folded(&folds, &jobs, &id).await));
        let by = folds.clone();
        assert!(Arc::ptr_eq(&first, &folded(&by, &jobs, &id).await));

        // A large fold is kept on every number of processors.
        let Folded { job, last, records, .. } = &*first;
        let large =
            Folded { job: job.clone(), last: *last, records: *records, bytes: BYTES_MAX / 4 };
        folds.0.insert(id.clone(), Arc::new(large));
        assert_eq!(folds.0.get(&id).unwrap().bytes, BYTES_MAX / 4);

        let missing = JobId::new("nobody").unwrap();
        let found = folds.job(&*jobs.broker.log, &missing).await.unwrap();
        assert!(matches!(found, Found::Missing));
    }
}
