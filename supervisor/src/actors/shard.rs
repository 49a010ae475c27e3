//! The actor of one owned shard: receives its facts and passes them to the actors of their jobs.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use broker::{
    Broker,
    log::{Delivery, Feed, LogError},
};
use futures::StreamExt;
use proto::id::{JobId, Shard};
use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};
use runtime::{
    actor::{kill_children, stop_children},
    registry::Registry,
    worker::dead_letter,
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    inbox::{Inbox, says_retry},
    job::{JobActor, JobArgs, Wake},
    observe::{Census, Labels, watch_load},
    options::SupervisorOptions,
    sweep,
};

/// Longest wait before an activation that was given up is repeated.
const REPEAT_AFTER_MAX: Duration = Duration::from_secs(60);

/// Longest wait for the current activations when a shard is given up.
const LAST_ACTIVATIONS_MAX: Duration = Duration::from_secs(5);

pub(super) struct ShardActor;

pub(super) enum ShardMsg {
    /// An item of the feed.
    Fed(Box<Feed>),
    /// The end of the feed.
    FeedEnded(Option<LogError>),
    /// Activate a job although no fact arrived.
    Look(JobId),
    /// An activation was given up; it is repeated, later each time.
    GaveUp(JobId),
    /// A job's actor has emptied its inbox; it may leave when the job waits for no worker. `settled`
    /// when no activation was given up.
    Rested { job: JobId, may_leave: bool, settled: bool },
}

#[derive(Clone)]
pub(super) struct ShardArgs {
    pub(super) shard: Shard,
    pub(super) broker: Broker,
    pub(super) registry: Registry,
    pub(super) options: SupervisorOptions,
    pub(super) labels: Labels,
}

pub(super) struct ShardState {
    args: ShardArgs,
    census: Arc<Census>,
    jobs: HashMap<JobId, Live>,
    by_actor: HashMap<ActorId, JobId>,
    panics: HashMap<JobId, u32>,
    /// Activations in a row that were given up.
    setbacks: HashMap<JobId, u32>,
    quarantined: HashSet<JobId>,
    /// They end with the actor, however it ends.
    tasks: Vec<AbortOnDropHandle<()>>,
}

struct Live {
    actor: ActorRef<Wake>,
    inbox: Arc<Inbox>,
}

/// The reason why a shard is given up.
#[derive(Debug, thiserror::Error)]
pub(super) enum ShardError {
    #[error("its feed failed: {0}")]
    Broke(#[source] LogError),
    #[error("its feed ended")]
    Ended,
}

impl Actor for ShardActor {
    type Msg = ShardMsg;
    type State = ShardState;
    type Arguments = ShardArgs;

    async fn pre_start(
        &self,
        myself: ActorRef<ShardMsg>,
        args: ShardArgs,
    ) -> Result<ShardState, ActorProcessingErr> {
        let feed = args.broker.log.facts(args.shard).await?;
        let pump = spawn(pump(feed, myself.clone()));
        let census = Census::open(args.shard, args.labels.clone());
        let sweeper = spawn(sweep::run(args.clone(), Arc::clone(&census), myself));
        let log = Arc::clone(&args.broker.log);
        let watcher = spawn(watch_load(log, args.shard, Arc::clone(&census)));
        tracing::info!(shard = %args.shard, "the shard is acquired");
        Ok(ShardState {
            args,
            census,
            jobs: HashMap::new(),
            by_actor: HashMap::new(),
            panics: HashMap::new(),
            setbacks: HashMap::new(),
            quarantined: HashSet::new(),
            tasks: vec![pump, sweeper, watcher],
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<ShardMsg>,
        message: ShardMsg,
        state: &mut ShardState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ShardMsg::Fed(feed) => match *feed {
                Feed::Fact(delivery) => state.fact(&myself, delivery).await?,
                Feed::Reset => state.forget_all(),
            },
            ShardMsg::FeedEnded(error) => {
                kill_children(&myself.get_cell());
                return Err(error.map_or(ShardError::Ended, ShardError::Broke).into());
            }
            ShardMsg::Look(job) => state.look(&myself, &job).await?,
            ShardMsg::GaveUp(job) => state.gave_up(&myself, job),
            ShardMsg::Rested { job, may_leave, settled } => {
                if settled {
                    state.setbacks.remove(&job);
                }
                state.rested(&job, may_leave);
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<ShardMsg>,
        event: SupervisionEvent,
        state: &mut ShardState,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(actor, error) => {
                state.failed(&myself, actor.get_id(), &error.to_string())
            }
            SupervisionEvent::ActorTerminated(actor, _, _) => state.gone(actor.get_id()),
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
            #[allow(
                unreachable_patterns,
                reason = "ractor's features add events that mean nothing here"
            )]
            _ => {}
        }
        Ok(())
    }

    async fn post_stop(
        &self,
        myself: ActorRef<ShardMsg>,
        state: &mut ShardState,
    ) -> Result<(), ActorProcessingErr> {
        // Dropping the feed lets another supervisor have the shard at once.
        for task in state.tasks.drain(..) {
            task.abort();
            let _ = task.await;
        }
        // Jobs finish their activation: its decisions are stored, and its facts acknowledged.
        stop_children(&myself.get_cell(), LAST_ACTIVATIONS_MAX).await;
        tracing::info!(shard = %state.args.shard, "the shard is released");
        Ok(())
    }
}

impl ShardState {
    async fn fact(
        &mut self,
        myself: &ActorRef<ShardMsg>,
        delivery: Delivery,
    ) -> Result<(), ActorProcessingErr> {
        let job = delivery.entry.job.clone();
        if says_retry(&delivery) {
            self.quarantined.remove(&job);
        }
        if self.quarantined.contains(&job) {
            // Its facts stay in the log, unacknowledged; the next sweep tries again.
            delivery.ack.later(self.args.options.sweep_interval).await;
            return Ok(());
        }
        self.wake(myself, &job, |waiting| waiting.facts.push_back(delivery)).await
    }

    async fn look(
        &mut self,
        myself: &ActorRef<ShardMsg>,
        job: &JobId,
    ) -> Result<(), ActorProcessingErr> {
        self.quarantined.remove(job);
        self.wake(myself, job, |waiting| {
            waiting.look = true;
            waiting.forget = true;
        })
        .await
    }

    async fn wake(
        &mut self,
        myself: &ActorRef<ShardMsg>,
        job: &JobId,
        change: impl FnOnce(&mut super::inbox::Waiting),
    ) -> Result<(), ActorProcessingErr> {
        if !self.jobs.contains_key(job) {
            self.start(myself, job).await?;
        }
        if let Some(live) = self.jobs.get(job)
            && live.inbox.add(change)
            && live.actor.cast(Wake).is_err()
        {
            // It died a moment ago: the event of its death has it started again, and the log delivers
            // the facts of its inbox again.
            tracing::debug!(%job, "the job's actor has just died");
        }
        Ok(())
    }

    async fn start(
        &mut self,
        myself: &ActorRef<ShardMsg>,
        job: &JobId,
    ) -> Result<(), ActorProcessingErr> {
        let inbox = Arc::new(Inbox::default());
        let args = JobArgs {
            job: job.clone(),
            shard: self.args.shard,
            inbox: Arc::clone(&inbox),
            broker: self.args.broker.clone(),
            registry: self.args.registry.clone(),
            owner: myself.clone(),
            census: Arc::clone(&self.census),
            labels: self.args.labels.clone(),
        };
        let (actor, _) = Actor::spawn_linked(None, JobActor, args, myself.get_cell()).await?;
        self.by_actor.insert(actor.get_id(), job.clone());
        self.jobs.insert(job.clone(), Live { actor, inbox });
        Ok(())
    }

    /// Another supervisor may have received facts: no fold in memory can be trusted any more.
    fn forget_all(&mut self) {
        // Sorted, because the order of a hash map is another one every time.
        let mut jobs: Vec<_> = self.jobs.iter().collect();
        jobs.sort_unstable_by_key(|(job, _)| *job);
        for (_, live) in jobs {
            if live.inbox.add(|waiting| waiting.forget = true) {
                let _ = live.actor.cast(Wake);
            }
        }
    }

    fn gave_up(&mut self, myself: &ActorRef<ShardMsg>, job: JobId) {
        let setbacks = self.setbacks.entry(job.clone()).or_default();
        *setbacks = setbacks.saturating_add(1);
        let wait = self.args.options.backoff.saturating_mul(2u32.saturating_pow(*setbacks - 1));
        // Many jobs give up at the same moment when the broker is away; they must not come back at one.
        let wait = wait.min(REPEAT_AFTER_MAX).mul_f64(0.5 + fastrand::f64() / 2.0);
        myself.send_after(wait, move || ShardMsg::Look(job));
    }

    /// A job's actor leaves when its job rests, or when too many are kept.
    fn rested(&mut self, job: &JobId, may_leave: bool) {
        let crowded = self.jobs.len() > self.args.options.cached_jobs;
        let Some(live) = self.jobs.get(job) else { return };
        self.panics.remove(job);
        if (may_leave || crowded) && live.inbox.is_idle() {
            live.actor.stop(None);
            let id = live.actor.get_id();
            self.by_actor.remove(&id);
            self.jobs.remove(job);
        }
    }

    fn gone(&mut self, actor: ActorId) {
        if let Some(job) = self.by_actor.remove(&actor) {
            self.jobs.remove(&job);
        }
    }

    /// A job's actor panicked. It is started again, later each time, and after some panics left alone:
    /// a job that breaks the code that reads it must not take its shard down.
    fn failed(&mut self, myself: &ActorRef<ShardMsg>, actor: ActorId, error: &str) {
        let Some(job) = self.by_actor.remove(&actor) else { return };
        self.jobs.remove(&job);
        let panics = self.panics.entry(job.clone()).or_default();
        *panics += 1;
        // It may hold what users wrote. Where it broke was said when it did.
        tracing::debug!(%job, %error, "the error of a job's actor that died");
        if *panics >= self.args.options.panics_max {
            tracing::error!(%job, shard = %self.args.shard, panics, "the job is parked: its actor panics repeatedly");
            dead_letter("panicked");
            self.panics.remove(&job);
            self.quarantined.insert(job);
            return;
        }
        let after = self.args.options.backoff * 2u32.saturating_pow(*panics - 1);
        tracing::error!(%job, shard = %self.args.shard, "a job's actor died; restarting it");
        myself.send_after(after, move || ShardMsg::Look(job));
    }
}

fn spawn(task: impl Future<Output = ()> + Send + 'static) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(task))
}

/// Moves the items of the feed into the shard's mailbox. The broker bounds the facts that are not
/// acknowledged, and so the mailbox.
async fn pump(
    mut feed: futures::stream::BoxStream<'static, Result<Feed, LogError>>,
    shard: ActorRef<ShardMsg>,
) {
    let ended = loop {
        match feed.next().await {
            Some(Ok(fed)) => {
                if shard.cast(ShardMsg::Fed(Box::new(fed))).is_err() {
                    return;
                }
            }
            Some(Err(error)) => break Some(error),
            None => break None,
        }
    };
    let _ = shard.cast(ShardMsg::FeedEnded(ended));
}
