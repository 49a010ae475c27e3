//! The supervisor of a process: starts the actors of shards that it should own, and stops the
//! others.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use broker::{Broker, backoff::Backoff, log::LogError};
use proto::{
    id::{Shard, WorkerId},
    wire::Presence,
};
use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};
use runtime::{
    presence::{Crew, Status, is_foreign},
    registry::Registry,
    worker::LocalPools,
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{
    observe::Labels,
    options::SupervisorOptions,
    ownership::owner_of,
    shard::{ShardActor, ShardArgs, ShardError, ShardMsg},
};

/// Longest wait before a shard's actor is restarted.
const RESTART_MAX: Duration = Duration::from_secs(30);

/// Longest wait for a shard's actor to stop on shutdown.
const GIVE_UP_MAX: Duration = Duration::from_secs(10);

/// Time after which a shard's earlier failures no longer count as consecutive.
const HEALTHY_AFTER: Duration = Duration::from_secs(60);

/// The actor that starts and stops the actors of shards.
#[derive(Debug)]
pub struct SupervisorActor;

/// A message to the supervisor.
#[derive(Debug)]
pub enum SupervisorMsg {
    /// The set of live supervisors, this one included.
    Live(BTreeSet<WorkerId>),
    /// Restart a shard's actor after its backoff.
    Retry(Shard),
    /// Stop all shards; the shutdown has begun.
    Drain,
}

/// Name of the role in `--roles` and in presence.
pub const ROLE: &str = "supervisor";

/// The arguments of the supervisor.
#[derive(Debug, Clone)]
pub struct SupervisorArgs {
    /// Connection to the logs of jobs.
    pub broker: Broker,
    /// Status of this process, which announces the shards that it owns.
    pub status: Status,
    /// Presence of the other processes.
    pub crew: Crew,
    /// Tool registry with which calls are compared.
    pub registry: Registry,
    /// Pools of this process, which carry out quick commands without the queue.
    pub local: LocalPools,
    /// Options of the role.
    pub options: SupervisorOptions,
    /// Token of the shutdown, on which all shards are given up at once.
    pub shutdown: CancellationToken,
}

/// The state of the supervisor.
#[derive(Debug)]
pub struct SupervisorState {
    args: SupervisorArgs,
    wanted: BTreeSet<Shard>,
    running: BTreeMap<Shard, ActorRef<ShardMsg>>,
    failures: HashMap<Shard, (u32, tokio::time::Instant)>,
    labels: Labels,
    _listener: AbortOnDropHandle<()>,
}

impl Actor for SupervisorActor {
    type Msg = SupervisorMsg;
    type State = SupervisorState;
    type Arguments = SupervisorArgs;

    async fn pre_start(
        &self,
        myself: ActorRef<SupervisorMsg>,
        args: SupervisorArgs,
    ) -> Result<SupervisorState, ActorProcessingErr> {
        let listener = tokio::spawn(listen(args.clone(), myself));
        Ok(SupervisorState {
            labels: Labels::new(args.options.agents.iter().cloned()),
            args,
            wanted: BTreeSet::new(),
            running: BTreeMap::new(),
            failures: HashMap::new(),
            _listener: AbortOnDropHandle::new(listener),
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<SupervisorMsg>,
        message: SupervisorMsg,
        state: &mut SupervisorState,
    ) -> Result<(), ActorProcessingErr> {
        if state.args.shutdown.is_cancelled() {
            state.give_all_up().await;
            myself.stop(None);
            return Ok(());
        }
        match message {
            SupervisorMsg::Live(live) => state.balance(&live),
            SupervisorMsg::Retry(_) | SupervisorMsg::Drain => {}
        }
        state.follow(&myself).await;
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<SupervisorMsg>,
        event: SupervisionEvent,
        state: &mut SupervisorState,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(actor, error) => {
                state.lost(&myself, actor.get_id(), &reason(&error));
            }
            SupervisionEvent::ActorTerminated(actor, _, reason) => {
                state.lost(&myself, actor.get_id(), reason.as_deref().unwrap_or("it stopped"));
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
            #[allow(
                unreachable_patterns,
                reason = "ractor's features add events that mean nothing here"
            )]
            _ => {}
        }
        Ok(())
    }
}

impl SupervisorState {
    fn balance(&mut self, live: &BTreeSet<WorkerId>) {
        let subjects = self.args.broker.log.subjects().clone();
        let mine = |shard: &Shard| {
            owner_of(*shard, subjects.shards(), live).as_ref() == Some(self.args.status.worker())
        };
        self.wanted = subjects.all_shards().filter(mine).collect();
    }

    /// Starts missing shards and stops the others.
    async fn follow(&mut self, myself: &ActorRef<SupervisorMsg>) {
        let unwanted: Vec<_> =
            self.running.keys().filter(|s| !self.wanted.contains(s)).copied().collect();
        for shard in unwanted {
            if let Some(actor) = self.running.remove(&shard) {
                self.args.status.set_shard(shard, false);
                actor.stop(Some("another supervisor should own the shard".into()));
            }
        }
        let missing: Vec<_> =
            self.wanted.iter().filter(|s| !self.running.contains_key(s)).copied().collect();
        for shard in missing {
            self.start(myself, shard).await;
        }
    }

    /// Stops all shards and waits until their running activations have finished, so that the next
    /// owners find no unfinished write.
    async fn give_all_up(&mut self) {
        let stops = std::mem::take(&mut self.running).into_iter().map(|(shard, actor)| {
            self.args.status.set_shard(shard, false);
            async move {
                let stopped =
                    actor.stop_and_wait(Some("shutting down".into()), Some(GIVE_UP_MAX)).await;
                if let Err(error) = stopped {
                    tracing::warn!(%shard, %error, "the shard was not released in time");
                }
            }
        });
        futures::future::join_all(stops).await;
    }

    async fn start(&mut self, myself: &ActorRef<SupervisorMsg>, shard: Shard) {
        if self
            .failures
            .get(&shard)
            .is_some_and(|(_, not_before)| tokio::time::Instant::now() < *not_before)
        {
            return;
        }
        let args = ShardArgs {
            shard,
            broker: self.args.broker.clone(),
            status: self.args.status.clone(),
            registry: self.args.registry.clone(),
            options: self.args.options.clone(),
            labels: self.labels.clone(),
            local: self.args.local.clone(),
        };
        match Actor::spawn_linked(None, ShardActor, args, myself.get_cell()).await {
            Ok((actor, _)) => {
                self.args.status.set_shard(shard, true);
                self.running.insert(shard, actor);
            }
            Err(SpawnErr::StartupFailed(error)) => self.back_off(myself, shard, &reason(&error)),
            Err(error @ (SpawnErr::ActorAlreadyStarted | SpawnErr::ActorAlreadyRegistered(_))) => {
                self.back_off(myself, shard, &error.to_string());
            }
        }
    }

    fn lost(&mut self, myself: &ActorRef<SupervisorMsg>, actor: ActorId, why: &str) {
        let shard = self
            .running
            .iter()
            .find(|(_, running)| running.get_id() == actor)
            .map(|(shard, _)| *shard);
        if let Some(shard) = shard {
            self.running.remove(&shard);
            self.args.status.set_shard(shard, false);
            self.back_off(myself, shard, why);
        }
    }

    fn back_off(&mut self, myself: &ActorRef<SupervisorMsg>, shard: Shard, why: &str) {
        let now = tokio::time::Instant::now();
        let before =
            self.failures.get(&shard).filter(|(_, last)| now.duration_since(*last) < HEALTHY_AFTER);
        let failures = before.map_or(1, |(n, _)| n.saturating_add(1));
        let backoff = Backoff::doubling(self.args.options.backoff, RESTART_MAX);
        let wait = backoff.after(failures - 1);
        tracing::warn!(%shard, error = why, failures, ?wait, "restarting the shard's actor");
        self.failures.insert(shard, (failures, now + wait));
        myself.send_after(wait, move || SupervisorMsg::Retry(shard));
    }
}

/// Tells the actor about every change of the live supervisors, and about the shutdown.
async fn listen(args: SupervisorArgs, supervisor: ActorRef<SupervisorMsg>) {
    let mut crew = args.crew.watch();
    loop {
        let mut live: BTreeSet<_> = crew
            .borrow_and_update()
            .values()
            .filter(|member| supervises(member))
            .map(|m| m.worker.clone())
            .collect();
        let ours = (args.status.worker(), args.status.version());
        let reads_done = args.crew.is_settled() && all_read_done(ours, &crew.borrow());
        args.local.switch(args.options.local_work && reads_done);
        // This process may not have received its own presence yet.
        live.insert(args.status.worker().clone());
        if supervisor.cast(SupervisorMsg::Live(live)).is_err() {
            return;
        }
        tokio::select! {
            biased;
            () = args.shutdown.cancelled() => {
                let _ = supervisor.cast(SupervisorMsg::Drain);
                return;
            }
            changed = crew.changed() => if changed.is_err() { return },
            () = args.crew.settled(), if !args.crew.is_settled() => {}
        }
    }
}

/// Returns the reason for which a shard's actor failed. The message of a panic may hold user
/// content, and its place was logged when it happened.
pub(super) fn reason(error: &ActorProcessingErr) -> String {
    if error.is::<ShardError>() || error.is::<LogError>() {
        return error.to_string();
    }
    tracing::debug!(%error, "the error of a shard's actor that died");
    "it panicked; its message is logged at debug".to_owned()
}

/// Returns `true` if no live process is of another release than this one, which is named with its
/// version. Another release might be unable to read what local work stores. A process that does not
/// hear itself hears no other. Workers in other languages read no such record.
pub(super) fn all_read_done(ours: (&WorkerId, &str), crew: &BTreeMap<WorkerId, Presence>) -> bool {
    let (worker, version) = ours;
    crew.contains_key(worker)
        && crew.values().all(|member| member.version == version || is_foreign(member))
}

fn supervises(member: &Presence) -> bool {
    !member.draining && member.roles.iter().any(|role| role == ROLE)
}
