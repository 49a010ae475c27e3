//! The actor of one owned shard, which passes delivered facts to the actors of their jobs.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use broker::{
    Broker,
    backoff::{Backoff, jittered},
    log::{Delivery, Feed, LogError},
};
use futures::StreamExt;
use proto::id::{JobId, Shard};
use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};
use runtime::{
    actor::{kill_children, stop_children},
    presence::Status,
    registry::Registry,
    worker::{LocalPools, dead_letter},
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    inbox::{Inbox, says_retry},
    job::{JobActor, JobArgs, Wake},
    observe::{Census, Labels, watch_load},
    options::SupervisorOptions,
    pulse, sweep,
};
use crate::activation::Rest;

/// Longest wait before an activation that was given up is repeated.
const REPEAT_AFTER_MAX: Duration = Duration::from_secs(60);

/// Longest wait for running activations when the shard is given up.
const LAST_ACTIVATIONS_MAX: Duration = Duration::from_secs(5);

/// Largest number of waiting jobs of a shard that keep their fold, so that one with which a person
/// is busy is not read from its beginning for each of its facts.
pub(super) const WAITING_MAX: usize = 32;

pub(super) struct ShardActor;

pub(super) enum ShardMsg {
    /// The feed delivered an item.
    Fed(Box<Feed>),
    /// The feed ended, with an error or without.
    FeedEnded(Option<LogError>),
    /// The shard ends before a position that it had reached: the server lost records.
    WentBack,
    /// Activate a job even without facts.
    Look(JobId),
    /// An activation was given up and is to be repeated with backoff.
    GaveUp(JobId),
    /// A job's actor has emptied its inbox. `settled` is `true` if no activation was given up.
    Rested { job: JobId, rest: Rest, settled: bool },
}

#[derive(Clone)]
pub(super) struct ShardArgs {
    pub(super) shard: Shard,
    pub(super) broker: Broker,
    pub(super) status: Status,
    pub(super) registry: Registry,
    pub(super) options: SupervisorOptions,
    pub(super) labels: Labels,
    pub(super) local: LocalPools,
}

pub(super) struct ShardState {
    args: ShardArgs,
    census: Arc<Census>,
    jobs: HashMap<JobId, Live>,
    by_actor: HashMap<ActorId, JobId>,
    /// Jobs in [`Rest::Waiting`] that keep their fold, the longest at rest first.
    waiting: VecDeque<JobId>,
    panics: HashMap<JobId, u32>,
    /// Consecutive activations that were given up, by job.
    setbacks: HashMap<JobId, u32>,
    quarantined: HashSet<JobId>,
    sweeper: AbortOnDropHandle<()>,
    /// Other background tasks, which end with the actor.
    tasks: Vec<AbortOnDropHandle<()>>,
}

struct Live {
    actor: ActorRef<Wake>,
    inbox: Arc<Inbox>,
}

/// The reason for which a shard's actor fails.
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
        let sweeper = spawn(sweep::run(args.clone(), Arc::clone(&census), myself.clone()));
        let (log, status) = (Arc::clone(&args.broker.log), args.status.clone());
        let every = args.options.probe_interval;
        let went_back = move || _ = myself.cast(ShardMsg::WentBack);
        let watcher =
            spawn(watch_load(log, args.shard, Arc::clone(&census), status, every, went_back));
        let pulses = spawn(pulse::run(args.broker.clone(), args.shard, Arc::clone(&census)));
        tracing::info!(shard = %args.shard, "the shard is acquired");
        Ok(ShardState {
            args,
            census,
            jobs: HashMap::new(),
            by_actor: HashMap::new(),
            waiting: VecDeque::new(),
            panics: HashMap::new(),
            setbacks: HashMap::new(),
            quarantined: HashSet::new(),
            sweeper,
            tasks: vec![pump, watcher, pulses],
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
            ShardMsg::WentBack => {
                state.forget_all();
                // Jobs whose last records are gone continue from what is left.
                let (args, census) = (state.args.clone(), Arc::clone(&state.census));
                state.sweeper = spawn(sweep::run(args, census, myself));
            }
            ShardMsg::Look(job) => state.look(&myself, &job).await?,
            ShardMsg::GaveUp(job) => state.gave_up(&myself, job),
            ShardMsg::Rested { job, rest, settled } => {
                if settled {
                    state.setbacks.remove(&job);
                }
                state.rested(job, rest);
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
        // Dropping the feed frees the shard for another supervisor at once.
        for task in state.tasks.drain(..) {
            task.abort();
            let _ = task.await;
        }
        // Jobs finish their activation: decisions are stored and facts acknowledged.
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
            // The job's facts stay unacknowledged in the log; the next sweep tries again.
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
            // The actor has just died. Its supervision event starts it again, and the log
            // redelivers the facts of its inbox.
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
            local: self.args.local.clone(),
        };
        let (actor, _) = Actor::spawn_linked(None, JobActor, args, myself.get_cell()).await?;
        self.by_actor.insert(actor.get_id(), job.clone());
        self.jobs.insert(job.clone(), Live { actor, inbox });
        Ok(())
    }

    /// Drops every cached fold, because another supervisor may have received facts.
    fn forget_all(&mut self) {
        // Sorted, because the iteration order of a hash map varies.
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
        let backoff = Backoff::doubling(self.args.options.backoff, REPEAT_AFTER_MAX);
        // Many jobs give up at the same moment when the broker is away; they must not come back at one.
        let wait = jittered(backoff.after(*setbacks - 1));
        myself.send_after(wait, move || ShardMsg::Look(job));
    }

    /// Stops the actors of jobs that rest, but for those that wait and rested last, and of any idle
    /// job if too many are cached.
    fn rested(&mut self, job: JobId, rest: Rest) {
        self.waiting.retain(|other| *other != job);
        // The actor may have been stopped in the meantime.
        if !self.jobs.contains_key(&job) {
            return;
        }
        self.panics.remove(&job);
        let is_crowded = self.jobs.len() > self.args.options.cached_jobs;
        match rest {
            Rest::Working if !is_crowded => {}
            Rest::Working | Rest::Over => self.dismiss(&job),
            Rest::Waiting => {
                self.waiting.push_back(job);
                if (is_crowded || self.waiting.len() > WAITING_MAX)
                    && let Some(longest) = self.waiting.pop_front()
                {
                    self.dismiss(&longest);
                }
            }
        }
    }

    /// Stops the actor of a job, unless it has work.
    fn dismiss(&mut self, job: &JobId) {
        let Some(live) = self.jobs.get(job) else { return };
        if live.inbox.is_idle() {
            live.actor.stop(None);
            let id = live.actor.get_id();
            self.by_actor.remove(&id);
            self.jobs.remove(job);
        }
    }

    fn gone(&mut self, actor: ActorId) {
        if let Some(job) = self.by_actor.remove(&actor) {
            self.waiting.retain(|other| *other != job);
            self.jobs.remove(&job);
        }
    }

    /// Handles a panic of a job's actor. It is started again with backoff, and after some panics
    /// the job is quarantined, so that a job whose log breaks the fold cannot take its shard down.
    fn failed(&mut self, myself: &ActorRef<ShardMsg>, actor: ActorId, error: &str) {
        let Some(job) = self.by_actor.remove(&actor) else { return };
        self.waiting.retain(|other| *other != job);
        self.jobs.remove(&job);
        let panics = self.panics.entry(job.clone()).or_default();
        *panics += 1;
        // The panic message may hold user content. The place of the panic was logged when it
        // happened.
        tracing::debug!(%job, %error, "the error of a job's actor that died");
        if *panics >= self.args.options.panics_max {
            tracing::error!(%job, shard = %self.args.shard, panics, "the job is parked: its actor panics repeatedly");
            dead_letter("panicked");
            self.panics.remove(&job);
            self.quarantined.insert(job);
            return;
        }
        let backoff = Backoff::doubling(self.args.options.backoff, Duration::MAX);
        let after = backoff.after(*panics - 1);
        tracing::error!(%job, shard = %self.args.shard, "a job's actor died; restarting it");
        myself.send_after(after, move || ShardMsg::Look(job));
    }
}

fn spawn(task: impl Future<Output = ()> + Send + 'static) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(task))
}

/// Moves the items of the feed into the shard's mailbox. The broker limits unacknowledged facts,
/// which bounds the mailbox.
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
