//! A simulated process: the real actors of its roles, started as the program starts them, over a
//! link and a clock of their own.

use std::{
    sync::{
        Arc, LazyLock, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use agents::catalogue::Catalogue;
use broker::{Broker, clock::Clock, memory::VirtualClock};
use door::{Door, DoorParts, agents::Agents, workflows::Workflows};
use executor_actor::ExecutorActor;
use interaction_actor::{InteractionActor, inbox_service::InboxService};
use jiff::{SignedDuration, Timestamp};
use model::Model;
use planner_actor::PlannerActor;
use proto::id::WorkerId;
use ractor::ActorCell;
use runtime::{
    actor::{Child, Restarts, Tree},
    people::People,
    presence::{Beacon, Crew, Status},
    registry::Registry,
    service::{Service, ServiceActor, ServiceArgs},
    worker::{Gauge, LocalPools, PoolArgs, PoolOptions},
};
use supervisor::actors::{SupervisorActor, SupervisorArgs, SupervisorOptions};
use tokio_util::sync::CancellationToken;

use crate::{
    props::Props,
    sub_agents,
    tools::{self, Bench},
};

/// The catalogue of the presets and of the sub-agents, read once for all worlds.
static AGENTS: LazyLock<Catalogue> =
    LazyLock::new(|| Catalogue::presets().with_given(sub_agents::helpers()));

/// The roles of a process, as one choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The supervisor and the front door.
    Supervisor,
    /// The planner, the executor, the tools and the inbox.
    Worker,
    /// Both, so that the supervisor carries quick work out without the queue.
    All,
}

impl Role {
    /// Returns `true` if the process owns shards.
    pub(crate) fn supervises(self) -> bool {
        matches!(self, Self::Supervisor | Self::All)
    }

    /// Returns `true` if the process carries out commands of queues.
    pub(crate) fn works(self) -> bool {
        matches!(self, Self::Worker | Self::All)
    }
}

/// The clock of a machine. It follows the world's clock, plus an offset that a fault may change.
#[derive(Debug, Clone)]
pub(crate) struct MachineClock {
    world: VirtualClock,
    off_ms: Arc<AtomicI64>,
}

impl MachineClock {
    pub(crate) fn new(world: VirtualClock) -> Self {
        Self { world, off_ms: Arc::default() }
    }

    pub(crate) fn step(&self, by_ms: i64) {
        self.off_ms.fetch_add(by_ms, Ordering::Relaxed);
    }
}

impl Clock for MachineClock {
    fn now(&self) -> Timestamp {
        let off = SignedDuration::from_millis(self.off_ms.load(Ordering::Relaxed));
        self.world.now().checked_add(off).unwrap_or(Timestamp::MAX)
    }

    fn monotonic(&self) -> Duration {
        self.world.monotonic()
    }
}

/// The parts that a process is started with.
pub(crate) struct Equipment {
    pub(crate) role: Role,
    pub(crate) worker: WorkerId,
    /// The broker, over the process's link.
    pub(crate) broker: Broker,
    pub(crate) clock: MachineClock,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) bench: Bench,
    /// Substitutes for its tools and reports when a recorded job is played.
    pub(crate) props: Option<Arc<dyn Props>>,
    pub(crate) shutdown: CancellationToken,
    /// Pools that carry out quick work for the supervisor of the same process.
    pub(crate) local: LocalPools,
    /// The place for the root of the process's actors, through which a crash kills all of them.
    pub(crate) root: Arc<Mutex<Option<ActorCell>>>,
}

/// Names of the roles of a worker.
const WORKING: [&str; 4] = ["planner", "executor", "tools", interaction_actor::ROLE];

type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Runs a process until its supervision tree ends, and describes the end.
///
/// # Errors
/// Returns an error if the process cannot start.
pub(crate) async fn live(own: Equipment) -> Result<String, Failed> {
    let roles = match own.role {
        Role::Supervisor => vec![supervisor::actors::ROLE],
        Role::Worker => WORKING.to_vec(),
        Role::All => [&[supervisor::actors::ROLE], &WORKING[..]].concat(),
    };
    let roles = roles.into_iter().map(str::to_owned).collect();
    let status = Status::new(own.worker.clone(), roles, "0", &own.clock, own.shutdown.clone());
    let crew = Crew::open(&own.broker);
    let registry = Registry::open(&own.broker).await?;
    let mut children = vec![
        Child::actor("beacon", || Beacon, (own.broker.clone(), status.clone())).in_background(),
    ];
    match own.role {
        Role::Supervisor => children.extend(own.supervisor(&status, &crew, &registry)),
        Role::Worker => children.extend(own.worker(&status, &crew, &registry).await?),
        Role::All => {
            children.extend(own.supervisor(&status, &crew, &registry));
            children.extend(own.worker(&status, &crew, &registry).await?);
        }
    }
    let tree = Tree::start("process", Restarts::default(), children).await?;
    *own.root.lock().unwrap_or_else(PoisonError::into_inner) = Some(tree.cell());
    Ok(format!("{:?}", tree.ended().await))
}

impl Equipment {
    fn agents(&self) -> Catalogue {
        let given = self.props.as_ref().and_then(|props| props.agents());
        given.unwrap_or_else(|| AGENTS.clone())
    }

    fn supervisor(&self, status: &Status, crew: &Crew, registry: &Registry) -> Vec<Child> {
        let args = SupervisorArgs {
            broker: self.broker.clone(),
            status: status.clone(),
            crew: crew.clone(),
            registry: registry.clone(),
            local: self.local.clone(),
            // There is no sweep after the first one of an acquired shard: a job that only a sweep
            // would find must count as forgotten.
            options: SupervisorOptions {
                sweep_interval: Duration::from_secs(100_000),
                ..SupervisorOptions::default()
            },
            shutdown: self.shutdown.clone(),
        };
        let door = Door::new(DoorParts {
            prices: agents::price::ByModel::default(),
            broker: self.broker.clone(),
            agents: Agents::fixed(self.agents()),
            workflows: Workflows::built_in(),
            people: People::default(),
            submits_per_minute: None,
            watches: 16,
            watch_bytes: door::WATCH_BYTES_MAX,
            registry: registry.clone(),
            crew: crew.clone(),
            clock: Arc::new(self.clock.clone()),
        });
        let supervisor = Child::actor("supervisor", || SupervisorActor, args);
        vec![supervisor, self.service("door", Arc::new(door))]
    }

    async fn worker(
        &self,
        status: &Status,
        crew: &Crew,
        registry: &Registry,
    ) -> Result<Vec<Child>, Failed> {
        let (broker, worker) = (&self.broker, &self.worker);
        let toolset = match &self.props {
            Some(props) => Arc::clone(props).toolset(&self.bench)?,
            None => tools::toolset(&self.bench)?,
        };
        let toolset = Arc::new(toolset);
        let setup = tool_actors::Setup {
            broker: broker.clone(),
            worker: worker.clone(),
            crew: crew.clone(),
            content: None,
            options: tool_actors::options(&toolset, 4),
            local: self.local.clone(),
            shutdown: self.shutdown.clone(),
        };
        let planner = PlannerActor::new(broker.clone(), Arc::clone(&self.model), registry.clone());
        let (planner, plans) = self.pool(planner_actor::ROLE, planner, planner_actor::options(4));
        let executor =
            ExecutorActor::new(broker.clone(), Arc::clone(&self.model), registry.clone());
        let (executor, turns) =
            self.pool(executor_actor::ROLE, executor, executor_actor::options(4));
        let (mut children, calls) = tool_actors::start(setup, toolset).await?;
        [plans, turns, calls].into_iter().for_each(|gauge| status.show(gauge));
        children.extend([planner, executor]);
        for options in interaction_actor::options(16) {
            let name = format!("inbox.{}", options.kind.as_str());
            children.push(self.pool(name, InteractionActor::new(broker.clone()), options).0);
        }
        let inbox = InboxService::new(broker.clone(), People::default(), registry.clone());
        children.push(self.service("desk", Arc::new(inbox)));
        Ok(children)
    }

    fn pool<R: runtime::worker::Role>(
        &self,
        name: impl Into<Arc<str>>,
        role: R,
        options: PoolOptions,
    ) -> (Child, Gauge) {
        let (broker, worker) = (self.broker.clone(), self.worker.clone());
        let pool = PoolArgs::new(broker, worker, role, options, self.shutdown.clone());
        pool.offered_to(&self.local).into_child(name)
    }

    fn service(&self, name: &'static str, service: Arc<dyn Service>) -> Child {
        let args = ServiceArgs {
            broker: self.broker.clone(),
            service,
            in_flight: 64,
            shutdown: self.shutdown.clone(),
        };
        Child::actor(name, || ServiceActor, args)
    }
}
