//! A process of the company: its roles' actors, started over a link and a clock of its own, as the
//! program starts them. The actors are the real ones.

use std::{
    sync::{
        Arc, LazyLock, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use broker::{Broker, clock::Clock, memory::VirtualClock};
use door::{Door, DoorParts, agents::Agents};
use interaction_actor::{desk::Desk, work::Asking};
use jiff::{SignedDuration, Timestamp};
use model::Model;
use proto::{
    agent::catalogue::Catalogue,
    decision::{DecisionKind, pools},
    id::WorkerId,
};
use ractor::ActorCell;
use runtime::{
    actor::{Child, Restarts, Tree},
    people::People,
    presence::{Beacon, Crew, Status},
    registry::Registry,
    service::{Service, ServiceActor, ServiceArgs},
    worker::{PoolActor, PoolArgs, PoolOptions},
};
use supervisor::actors::{SupervisorActor, SupervisorArgs, SupervisorOptions};
use tokio_util::sync::CancellationToken;

use crate::{
    kin,
    rehearsal::{self, Stage},
    tools::{self, Bench},
};

/// The agents that come with the program, and those that tasks are handed to, read once for all
/// worlds.
static AGENTS: LazyLock<Catalogue> =
    LazyLock::new(|| Catalogue::presets().with_given(kin::helpers()));

/// What a process is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Owns shards and serves the front door.
    Supervisor,
    /// Plans, takes turns, calls tools and keeps the inbox.
    Worker,
}

/// The clock of a machine: it moves with the world's, and somebody may set it.
#[derive(Debug, Clone)]
pub(crate) struct MachineClock {
    world: VirtualClock,
    off_ms: Arc<AtomicI64>,
}

impl MachineClock {
    pub(crate) fn new(world: VirtualClock) -> Self {
        Self { world, off_ms: Arc::default() }
    }

    /// Sets it forward or back.
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

/// What a process is started with.
pub(crate) struct Equipment {
    pub(crate) role: Role,
    pub(crate) worker: WorkerId,
    /// Over the process's link.
    pub(crate) broker: Broker,
    pub(crate) clock: MachineClock,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) bench: Bench,
    /// What is on stage when a recorded job is played.
    pub(crate) stage: Option<Arc<Stage>>,
    pub(crate) shutdown: CancellationToken,
    /// Where the root of its actors is left, so that they can all be killed.
    pub(crate) root: Arc<Mutex<Option<ActorCell>>>,
}

type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Puts a process to work, and tells how it ended.
///
/// # Errors
/// When it cannot start.
pub(crate) async fn live(own: Equipment) -> Result<String, Failed> {
    let roles = match own.role {
        Role::Supervisor => vec![supervisor::actors::ROLE.to_owned()],
        Role::Worker => {
            ["planner", "executor", "tools", interaction_actor::ROLE].map(str::to_owned).to_vec()
        }
    };
    let status = Status::new(own.worker.clone(), roles, "0", &own.clock, own.shutdown.clone());
    let crew = Crew::open(&own.broker);
    let registry = Registry::open(&own.broker).await?;
    let mut children = vec![
        Child::actor("beacon", || Beacon, (own.broker.clone(), status.clone())).in_background(),
    ];
    match own.role {
        Role::Supervisor => children.extend(own.supervisor(&status, &crew, &registry)),
        Role::Worker => children.extend(own.worker(&status, &crew, &registry).await?),
    }
    let tree = Tree::start("process", Restarts::default(), children).await?;
    *own.root.lock().unwrap_or_else(PoisonError::into_inner) = Some(tree.cell());
    Ok(format!("{:?}", tree.ended().await))
}

impl Equipment {
    fn supervisor(&self, status: &Status, crew: &Crew, registry: &Registry) -> Vec<Child> {
        let args = SupervisorArgs {
            broker: self.broker.clone(),
            status: status.clone(),
            crew: crew.clone(),
            registry: registry.clone(),
            // No sweep but the first after a shard is taken up: what only a sweep would find must
            // be seen as forgotten.
            options: SupervisorOptions {
                sweep_interval: Duration::from_secs(100_000),
                ..SupervisorOptions::default()
            },
            shutdown: self.shutdown.clone(),
        };
        let door = Door::new(DoorParts {
            prices: proto::price::ByModel::default(),
            broker: self.broker.clone(),
            agents: Agents::fixed(AGENTS.clone()),
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
        let (planner, plans) = planner_actor::start(planner_actor::Setup {
            broker: broker.clone(),
            worker: worker.clone(),
            model: Arc::clone(&self.model),
            registry: registry.clone(),
            options: planner_actor::options(4),
            shutdown: self.shutdown.clone(),
        });
        let (executor, turns) = executor_actor::start(executor_actor::Setup {
            broker: broker.clone(),
            worker: worker.clone(),
            model: Arc::clone(&self.model),
            registry: registry.clone(),
            options: executor_actor::options(4),
            shutdown: self.shutdown.clone(),
        });
        let toolset = match &self.stage {
            Some(stage) => rehearsal::toolset(stage, &self.bench)?,
            None => tools::toolset(&self.bench)?,
        };
        let toolset = Arc::new(toolset);
        let setup = tool_actors::Setup {
            broker: broker.clone(),
            worker: worker.clone(),
            crew: crew.clone(),
            content: None,
            options: tool_actors::options(&toolset, 4),
            shutdown: self.shutdown.clone(),
        };
        let (mut children, calls) = tool_actors::start(setup, toolset).await?;
        [plans, turns, calls].into_iter().for_each(|gauge| status.show(gauge));
        children.extend([planner, executor]);
        for kind in [DecisionKind::Ask, DecisionKind::Note] {
            let options = PoolOptions::new(kind, pools::people(), 16);
            let work = Arc::new(Asking::new(broker.clone()));
            let shutdown = self.shutdown.clone();
            let pool = PoolArgs::new(broker.clone(), worker.clone(), work, options, shutdown);
            children.push(Child::actor(format!("inbox.{}", kind.as_str()), || PoolActor, pool));
        }
        let desk = Desk::new(broker.clone(), People::default(), registry.clone());
        children.push(self.service("desk", Arc::new(desk)));
        Ok(children)
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
