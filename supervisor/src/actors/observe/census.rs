//! How many jobs of a shard stand where, and which questions have waited longest. Counted once by
//! walking through the shard, then kept current by every look; counted anew with every sweep, so
//! that what was missed is mended. Takes a fixed amount of memory, however many jobs there are.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak},
};

use jiff::Timestamp;
use opentelemetry::{KeyValue, StringValue};
use proto::id::{JobId, Seq, Shard};
use runtime::{
    log::ShardLoad,
    telemetry::{self, keys},
};

use super::{Labels, label, load};
use crate::machine::{Job, Standing};

/// Questions whose age is known, at most; when there are more, the ages of the oldest are.
const AGES_MAX: usize = 1_000;

/// What is counted: the agent as a label, the state, and what it is at.
type Group = (StringValue, &'static str, &'static str);

/// The figures of one shard.
#[derive(Debug)]
pub(in crate::actors) struct Census {
    labels: Labels,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    now: Figures,
    /// The walk that is under way.
    walk: Option<Walk>,
    load: Option<ShardLoad>,
    storage: Option<runtime::log::Storage>,
}

#[derive(Debug)]
struct Walk {
    figures: Figures,
    /// Submissions at or after this one are counted already: the walk goes from the newest back.
    from: Seq,
}

#[derive(Debug, Default)]
struct Figures {
    jobs: HashMap<Group, i64>,
    questions: i64,
    ages: Ages,
}

/// Since when jobs have waited for an answer: of the jobs that have waited longest.
#[derive(Debug, Default)]
struct Ages {
    since: HashMap<JobId, Timestamp>,
    oldest: BTreeSet<(Timestamp, JobId)>,
}

impl Ages {
    /// A job waits since then, or for nothing any more. By the job alone: what was read of it before
    /// may have had another time.
    fn set(&mut self, job: &JobId, asked: Option<Timestamp>) {
        if let Some((job, since)) = self.since.remove_entry(job) {
            self.oldest.remove(&(since, job));
        }
        let Some(asked) = asked else { return };
        self.since.insert(job.clone(), asked);
        self.oldest.insert((asked, job.clone()));
        if self.oldest.len() > AGES_MAX
            && let Some((_, newest)) = self.oldest.pop_last()
        {
            self.since.remove(&newest);
        }
    }

    fn oldest(&self) -> Option<Timestamp> {
        self.oldest.first().map(|(since, _)| *since)
    }
}

impl Figures {
    fn change(&mut self, standing: &Standing, labels: &Labels, by: i64) {
        if standing.state.is_terminal() {
            return;
        }
        let agent = labels.agent(&standing.agent);
        let group = (agent, standing.state.as_str(), label::status(standing.sub_status));
        let count = self.jobs.entry(group).or_default();
        *count += by;
        let questions = i64::try_from(standing.questions).unwrap_or(i64::MAX);
        self.questions = self.questions.saturating_add(questions.saturating_mul(by));
    }

    /// A job stands somewhere else than before.
    fn moves(
        &mut self,
        job: &JobId,
        before: Option<&Standing>,
        now: Option<&Standing>,
        labels: &Labels,
    ) {
        before.iter().for_each(|standing| self.change(standing, labels, -1));
        now.iter().for_each(|standing| self.change(standing, labels, 1));
        let open = now.filter(|standing| !standing.state.is_terminal());
        self.ages.set(job, open.and_then(|standing| standing.asked));
    }
}

impl Census {
    /// Nobody is counted yet. Shown from now on, until it is dropped.
    pub(in crate::actors) fn open(shard: Shard, labels: Labels) -> Arc<Self> {
        let census = Arc::new(Self { labels, inner: Mutex::default() });
        shown().insert(shard, Arc::downgrade(&census));
        census
    }

    /// A job stands somewhere else than before.
    pub(super) fn moved(&self, job: &Job, before: Option<&Standing>, now: Option<&Standing>) {
        let mut inner = self.lock();
        inner.now.moves(job.id(), before, now, &self.labels);
        if let Some(walk) = inner.walk.as_mut().filter(|walk| job.first() >= walk.from) {
            walk.figures.moves(job.id(), before, now, &self.labels);
        }
    }

    /// Begins to count anew.
    pub(in crate::actors) fn begin(&self) {
        let walk = Walk { figures: Figures::default(), from: Seq(u64::MAX) };
        self.lock().walk = Some(walk);
    }

    /// Counts an open job that the walk came by.
    pub(in crate::actors) fn passed(&self, job: &JobId, standing: &Standing) {
        if let Some(walk) = &mut self.lock().walk {
            walk.figures.moves(job, None, Some(standing), &self.labels);
        }
    }

    /// The walk has counted every job submitted at or after this one.
    pub(in crate::actors) fn reached(&self, from: Seq) {
        if let Some(walk) = &mut self.lock().walk {
            walk.from = from;
        }
    }

    /// The walk is through: from now on its figures are the ones that count.
    pub(in crate::actors) fn finish(&self) {
        let mut inner = self.lock();
        if let Some(walk) = inner.walk.take() {
            inner.now = walk.figures;
        }
    }

    pub(super) fn set_load(&self, load: ShardLoad) {
        self.lock().load = Some(load);
    }

    pub(super) fn set_storage(&self, storage: runtime::log::Storage) {
        self.lock().storage = Some(storage);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Figures are not worth a panic in whoever looks next.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Shown = BTreeMap<Shard, Weak<Census>>;

/// The censuses that are shown. Instruments live as long as the process, and so does this.
static SHOWN: LazyLock<Mutex<Shown>> = LazyLock::new(|| {
    observe();
    load::observe();
    Mutex::default()
});

fn shown() -> MutexGuard<'static, Shown> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows each shard that is owned here: its number, its load and the account's storage.
pub(super) fn each_load(mut show: impl FnMut(KeyValue, &ShardLoad, Option<runtime::log::Storage>)) {
    each(|shard, inner| {
        if let Some(load) = &inner.load {
            show(shard, load, inner.storage);
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
                seen.observe(load::age(inner.now.ages.oldest()), &[shard]);
            });
        })
        .build();
}
