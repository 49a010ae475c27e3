//! The surroundings of a job, from which the door explains why the job does not move: live
//! processes, queues and child jobs. This is the only place where a job's view receives knowledge
//! that its log does not contain.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use broker::{
    Broker,
    log::{Log, Queue},
};
use futures::future::join_all;
use machine::{Job, QueueState, Surroundings};
use proto::{
    decision::DecisionKind,
    door::PoolQueue,
    error::Failure,
    id::{JobId, Pool, Seq, Shard},
    tool::ToolSpec,
    view::{JobSummary, JobView},
    why::Why,
};
use runtime::presence::Crew;
use tokio::time::Instant;

use super::{fold, folds::Folds, row::Rows};

/// Maximum number of descendants whose logs are read to explain one job.
const DESCENDANTS_MAX: usize = 32;
/// Time for which the state of a shard's queues is reused.
const QUEUES_FRESH: Duration = Duration::from_secs(1);
/// Longest wait for the state of a shard's queues. A view does not wait longer, and does without.
const QUEUES_WITHIN: Duration = Duration::from_secs(1);
/// Time for which the state of queues that could not be read is not requested again.
const QUEUES_UNKNOWN: Duration = Duration::from_secs(30);

type Queues = BTreeMap<(DecisionKind, Pool), QueueState>;
/// State of the queues of each shard, and the time until which it is used.
type Remembered = HashMap<Shard, (Instant, Arc<Queues>)>;

/// An observer of the installation. Clones share its memory.
#[derive(Debug, Clone)]
pub(super) struct Observer {
    broker: Broker,
    crew: Crew,
    queues: Arc<Mutex<Remembered>>,
    pub(super) rows: Rows,
    pub(super) folds: Folds,
}

impl Observer {
    pub(super) fn new(broker: Broker, crew: Crew) -> Self {
        Self {
            broker,
            crew,
            queues: Arc::default(),
            rows: Rows::default(),
            folds: Folds::default(),
        }
    }

    pub(super) fn log(&self) -> &dyn Log {
        &*self.broker.log
    }

    /// Returns the view of a job, with the reasons why it and its children do not move.
    pub(super) async fn view(&self, job: &Job) -> Result<JobView, Failure> {
        let mut view = fold::view(job)?;
        view.why = self.why(job).await?;
        Ok(view)
    }

    /// Returns a job's row in a list, with the first reason why it does not move. The logs of its
    /// children are not read.
    pub(super) async fn summary(&self, job: &Job) -> Result<JobSummary, Failure> {
        let mut summary = fold::summary(job)?;
        let around = self.installation(job).await;
        summary.why = why(job, &around)?.into_iter().next();
        Ok(summary)
    }

    /// Returns the reasons why a job does not move.
    pub(super) async fn why(&self, job: &Job) -> Result<Vec<Why>, Failure> {
        why(job, &self.around(job).await)
    }

    /// Returns the surroundings of a job.
    pub(super) async fn around(&self, job: &Job) -> Surroundings {
        let mut left = DESCENDANTS_MAX;
        self.around_within(job, &mut left).await
    }

    /// Returns the surroundings of a job; `left` is the number of further logs that may be read.
    async fn around_within(&self, job: &Job, left: &mut usize) -> Surroundings {
        let mut around = self.installation(job).await;
        for child in job.waits().children {
            let Some(fewer) = left.checked_sub(1) else { break };
            *left = fewer;
            if let Some(why) = Box::pin(self.first_of(&child, left)).await {
                around.children.insert(child, why);
            }
        }
        around
    }

    /// Returns the first reason why a child does not move; `None` if its log cannot be read, or it
    /// has ended.
    async fn first_of(&self, child: &JobId, left: &mut usize) -> Option<Why> {
        let entries = self.log().read(child, Seq(0)).await.ok()?;
        let job = fold::whole(child, &entries).ok()?;
        let around = self.around_within(&job, left).await;
        why(&job, &around).ok()?.into_iter().next()
    }

    /// Returns the surroundings of a job without its children.
    async fn installation(&self, job: &Job) -> Surroundings {
        let shard = self.log().subjects().shard_of(job.id());
        let members = self.crew.members();
        let is_owned = members.values().any(|member| member.shards.contains(&shard));
        let is_known = self.crew.is_settled();
        Surroundings {
            announced: self.announced(),
            unowned: (is_known && !is_owned).then_some(shard),
            queues: match job.waits().commands.is_empty() {
                true => Queues::new(),
                false => Queues::clone(&*self.queues(shard).await),
            },
            children: BTreeMap::new(),
        }
    }

    /// Returns the queue of each pool, over all shards.
    pub(super) async fn depths(&self) -> Vec<PoolQueue> {
        let shards = self.log().subjects().all_shards();
        let queues = join_all(shards.map(|shard| self.queues(shard))).await;
        let mut depths: BTreeMap<(DecisionKind, Pool), u64> = BTreeMap::new();
        for (queue, state) in queues.iter().flat_map(|queues| queues.iter()) {
            let waiting = depths.entry(queue.clone()).or_default();
            *waiting = waiting.saturating_add(state.waiting);
        }
        let depths = depths.into_iter();
        depths.map(|((kind, pool), waiting)| PoolQueue { kind, pool, waiting }).collect()
    }

    /// Returns the pools that live workers announce, or `None` while not all workers are known.
    fn announced(&self) -> Option<BTreeSet<(DecisionKind, Pool)>> {
        let members = self.crew.is_settled().then(|| self.crew.members())?;
        let serving = members.values().filter(|member| !member.draining);
        let pools = serving.flat_map(|member| &member.pools).filter(|pool| pool.capacity > 0);
        Some(pools.filter_map(|pool| parse(&pool.pool)).collect())
    }

    /// Returns the number of live workers that announce the pool of each tool; empty while not all
    /// workers are known.
    pub(super) fn workers<'a>(
        &self,
        tools: impl Iterator<Item = &'a ToolSpec>,
    ) -> BTreeMap<proto::id::ToolName, u32> {
        if !self.crew.is_settled() {
            return BTreeMap::new();
        }
        let members = self.crew.members();
        let serves = |pool: &Pool| {
            let serving = members.values().filter(|member| !member.draining);
            let wanted = Some((DecisionKind::Call, pool.clone()));
            let count = serving.filter(|member| {
                member.pools.iter().any(|load| load.capacity > 0 && parse(&load.pool) == wanted)
            });
            u32::try_from(count.count()).unwrap_or(u32::MAX)
        };
        tools.map(|tool| (tool.name.clone(), serves(&tool.pool))).collect()
    }

    /// Returns the state of the queues of a shard; empty if it cannot be read.
    async fn queues(&self, shard: Shard) -> Arc<Queues> {
        let remembered = self.remembered().get(&shard).cloned();
        if let Some((_, queues)) = remembered.filter(|(until, _)| Instant::now() < *until) {
            return queues;
        }
        let (queues, fresh) =
            match tokio::time::timeout(QUEUES_WITHIN, self.log().progress(shard)).await {
                Ok(Ok(progress)) => {
                    let of = |progress: broker::log::Progress| match progress.queue {
                        Queue::Facts => None,
                        Queue::Commands(kind, pool) => {
                            let (delivered, waiting) = (progress.delivered, progress.pending);
                            Some(((kind, pool), QueueState { delivered, waiting }))
                        }
                    };
                    (progress.into_iter().filter_map(of).collect(), QUEUES_FRESH)
                }
                Ok(Err(error)) => {
                    tracing::debug!(%shard, %error, "the queues of a shard cannot be read");
                    (Queues::new(), QUEUES_UNKNOWN)
                }
                Err(_) => {
                    tracing::debug!(%shard, "the queues of a shard were not read in time");
                    (Queues::new(), QUEUES_UNKNOWN)
                }
            };
        let queues = Arc::new(queues);
        self.remembered().insert(shard, (Instant::now() + fresh, Arc::clone(&queues)));
        queues
    }

    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn why(job: &Job, around: &Surroundings) -> Result<Vec<Why>, Failure> {
    fold::apart(job.id(), || job.why(around))
}

/// Parses the name of a pool in a presence message: `call.builtin`.
fn parse(pool: &str) -> Option<(DecisionKind, Pool)> {
    let (kind, pool) = pool.split_once('.')?;
    Some((kind.parse().ok()?, Pool::new(pool).ok()?))
}
