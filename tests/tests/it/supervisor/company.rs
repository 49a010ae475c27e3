//! An installation for tests: a supervisor and a worker on the in-memory broker. The worker's plans
//! are given by the test, and it answers every call at once.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use ::supervisor::actors::{ROLE, SupervisorActor, SupervisorArgs, SupervisorOptions};
use broker::{
    Broker,
    bus::Bus,
    clock::SystemClock,
    kv::Bucket,
    log::Log,
    memory::{Memory, MemoryOptions},
    testing::{
        jobs::{self, Jobs},
        wait::patiently,
    },
};
use futures::StreamExt;
use machine::{Job, replay};
use proto::{
    decision::{Decision, DecisionKind, pools},
    fact::{Called, Fact, Planned},
    id::{JobId, Seq, WorkerId},
    plan::Step,
    record::Known,
    subject::Subjects,
    tool::{Effect, ToolResult},
};
use runtime::{
    actor::{Child, Restarts, Tree},
    presence::{Beacon, Crew, Status},
    registry::Registry,
    testing::{AnyCommand, FnRole},
    worker::{LocalPools, PoolArgs, PoolOptions, Task},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub(crate) struct Company {
    pub(crate) memory: Memory,
    pub(crate) broker: Broker,
    processes: Vec<Process>,
}

/// A simulated process, which a test may end.
pub(crate) struct Process {
    _tree: Tree,
    pub(crate) shutdown: CancellationToken,
}

/// The answers of a worker.
#[derive(Clone, Copy)]
struct Answers {
    /// The steps of every plan.
    steps: &'static str,
    /// The effect of the steps' tool.
    effect: Effect,
    /// Time that a tool call takes.
    takes: Duration,
}

async fn answer(command: &Decision, answers: Answers) -> Option<Fact> {
    match command {
        Decision::Plan(work) => Some(Fact::Planned(Planned {
            work: work.work.clone(),
            attempt: work.attempt,
            ..jobs::planned(steps(answers))
        })),
        Decision::Call(work) => {
            tokio::time::sleep(answers.takes).await;
            Some(Fact::Called(Called {
                attempt: work.attempt,
                result: ToolResult::ok(json!(work.step)),
                ..jobs::called(work.work.as_str())
            }))
        }
        Decision::Turn(_)
        | Decision::Ask(_)
        | Decision::Wait(_)
        | Decision::Spawn(_)
        | Decision::Note(_)
        | Decision::Done(_)
        | Decision::Finish(_) => None,
    }
}

fn steps(answers: Answers) -> Vec<Step> {
    let step = |step| jobs::step(step, "echo", json!({}), jobs::binding(answers.effect));
    answers.steps.split_whitespace().map(step).collect()
}

fn quick(options: MemoryOptions) -> MemoryOptions {
    MemoryOptions {
        ack_wait: Duration::from_secs(1),
        facts_ack_wait: Duration::from_secs(1),
        ..options
    }
}

/// The registry, the local pools and the options of a supervisor.
struct Both {
    registry: Registry,
    local: LocalPools,
    options: SupervisorOptions,
}

fn supervisor(name: &str, broker: Broker, both: Both, shutdown: &CancellationToken) -> Vec<Child> {
    let worker = WorkerId::new(name).unwrap();
    let clock = SystemClock::new();
    let args = SupervisorArgs {
        status: Status::new(worker, vec![ROLE.into()], "0", &clock, shutdown.clone()),
        crew: Crew::open(&broker),
        registry: both.registry,
        local: both.local,
        options: SupervisorOptions { backoff: Duration::from_millis(20), ..both.options },
        shutdown: shutdown.clone(),
        broker: broker.clone(),
    };
    let beacon = Child::actor("beacon", || Beacon, (broker, args.status.clone()));
    vec![beacon, Child::actor("supervisor", || SupervisorActor, args)]
}

fn pools_of(
    name: &str,
    broker: &Broker,
    answers: Answers,
    local: &LocalPools,
    shutdown: &CancellationToken,
) -> Vec<Child> {
    let pool = |kind, pool| {
        let options = PoolOptions::new(kind, pool, 64);
        let role =
            FnRole(
                move |task: Task<AnyCommand>| async move { answer(&task.command.0, answers).await },
            );
        let (broker, worker) = (broker.clone(), WorkerId::new(name).unwrap());
        let pool = PoolArgs::new(broker, worker, role, options, shutdown.clone());
        pool.offered_to(local).into_child(format!("{kind:?}")).0
    };
    vec![pool(DecisionKind::Plan, pools::models()), pool(DecisionKind::Call, pools::builtin())]
}

impl Company {
    pub(crate) fn new(options: MemoryOptions) -> Self {
        let memory = Memory::new(Subjects::new("cb", 4).unwrap(), quick(options));
        let broker = memory.connect(WorkerId::new("test").unwrap());
        Self { memory, broker, processes: Vec::new() }
    }

    /// Starts an installation with one supervisor and one worker, whose plans have these steps.
    pub(crate) async fn at_work(options: MemoryOptions, steps: &'static str) -> Self {
        let mut company = Self::new(options);
        company.hire_supervisor("s1").await;
        company.hire_worker("w1", steps).await;
        company
    }

    pub(crate) async fn hire_supervisor(&mut self, name: &str) -> usize {
        self.hire_supervisor_with(name, SupervisorOptions::default(), |bus| bus).await
    }

    /// Starts a supervisor with another bus.
    pub(crate) async fn hire_supervisor_with(
        &mut self,
        name: &str,
        options: SupervisorOptions,
        bus: impl Fn(Arc<dyn Bus>) -> Arc<dyn Bus>,
    ) -> usize {
        let mut broker = self.memory.connect(WorkerId::new(name).unwrap());
        broker.bus = bus(broker.bus);
        self.announce("echo", |_| {}).await;
        let registry = Registry::open(&broker).await.unwrap();
        self.run_supervisor(name, broker, registry, options).await
    }

    /// Starts a process that is supervisor and worker, on a log of its own. Its tool is pure.
    pub(crate) async fn hire_both(
        &mut self,
        name: &str,
        steps: &'static str,
        takes: Duration,
        log: impl FnOnce(Arc<dyn Log>) -> Arc<dyn Log>,
    ) -> usize {
        let mut broker = self.memory.connect(WorkerId::new(name).unwrap());
        broker.log = log(broker.log);
        self.announce("echo", |tool| tool["effect"] = json!("pure")).await;
        let registry = Registry::open(&broker).await.unwrap();
        let (local, shutdown) = (LocalPools::default(), CancellationToken::new());
        let answers = Answers { steps, effect: Effect::Pure, takes };
        let mut children = pools_of(name, &broker, answers, &local, &shutdown);
        let both = Both { registry, local, options: SupervisorOptions::default() };
        children.extend(supervisor(name, broker, both, &shutdown));
        self.run(children, shutdown).await
    }

    /// Starts a supervisor with a registry of its own, which may be outdated.
    pub(crate) async fn hire_supervisor_that_knows(
        &mut self,
        registry: Registry,
        name: &str,
    ) -> usize {
        let broker = self.memory.connect(WorkerId::new(name).unwrap());
        self.announce("echo", |_| {}).await;
        self.run_supervisor(name, broker, registry, SupervisorOptions::default()).await
    }

    async fn run_supervisor(
        &mut self,
        name: &str,
        broker: Broker,
        registry: Registry,
        options: SupervisorOptions,
    ) -> usize {
        let shutdown = CancellationToken::new();
        let both = Both { registry, local: LocalPools::default(), options };
        self.run(supervisor(name, broker, both, &shutdown), shutdown).await
    }

    /// Stores a tool in the registry.
    pub(crate) async fn announce(&self, tool: &str, change: impl FnOnce(&mut Value)) {
        let mut announced = json!({
            "name": tool, "description": "A tool.", "schema": {}, "effect": "idempotent",
            "pool": "builtin", "version": "1", "by": "w1",
        });
        change(&mut announced);
        let announced = announced.to_string().into();
        self.broker.kv.put(Bucket::Tools, tool, announced).await.unwrap();
    }

    pub(crate) async fn hire_worker(&mut self, name: &str, steps: &'static str) -> usize {
        self.hire_slow_worker(name, steps, Duration::ZERO).await
    }

    /// Starts a worker whose tool calls take `takes`.
    pub(crate) async fn hire_slow_worker(
        &mut self,
        name: &str,
        steps: &'static str,
        takes: Duration,
    ) -> usize {
        let broker = self.memory.connect(WorkerId::new(name).unwrap());
        let shutdown = CancellationToken::new();
        let answers = Answers { steps, effect: Effect::Idempotent, takes };
        let children = pools_of(name, &broker, answers, &LocalPools::default(), &shutdown);
        self.run(children, shutdown).await
    }

    async fn run(&mut self, children: Vec<Child>, shutdown: CancellationToken) -> usize {
        let tree = Tree::start("process", Restarts::default(), children).await.unwrap();
        self.processes.push(Process { _tree: tree, shutdown });
        self.processes.len() - 1
    }

    pub(crate) fn dismiss(&self, process: usize) {
        self.processes[process].shutdown.cancel();
    }

    pub(crate) async fn submit(&self, id: &str) -> JobId {
        Jobs { broker: self.broker.clone() }.submit(id, jobs::submitted("g")).await
    }

    pub(crate) async fn first_decision(&self, job: &JobId) -> Option<Decision> {
        let entries = self.broker.log.read(job, Seq(0)).await.unwrap();
        entries.into_iter().find_map(|entry| match entry.record.ok()?.known().ok()? {
            Known::Decision(decision) => Some(*decision),
            Known::Fact(_) => None,
        })
    }

    pub(crate) async fn folded(&self, job: &JobId) -> Job {
        let entries = self.broker.log.read(job, Seq(0)).await.unwrap();
        replay(job, &entries)
    }

    /// Waits for a record after which `wanted` is `true`, and returns the job.
    pub(crate) async fn until(&self, job: &JobId, wanted: impl Fn(&Job) -> bool) -> Job {
        let mut records = self.broker.log.watch(job, Seq(0)).await.unwrap();
        let (mut folded, mut entries) = (Job::new(job.clone()), Vec::new());
        let found = patiently(async {
            while !wanted(&folded) {
                let entry = records.next().await.unwrap().unwrap();
                folded.take(&entry);
                entries.push(entry);
                if folded.must_be_refolded() {
                    folded = replay(job, &entries);
                }
            }
        });
        if found.await.is_none() {
            panic!("{job} never got there: {:?}", folded.view());
        }
        folded
    }

    /// Waits for the end, and checks that no attempt was sent twice.
    pub(crate) async fn ended(&self, job: &JobId) -> Job {
        let folded = self.until(job, Job::has_ended).await;
        let mut sent = BTreeSet::new();
        for entry in self.broker.log.read(job, Seq(0)).await.unwrap() {
            let Ok(Known::Decision(decision)) = entry.record.unwrap().known() else {
                continue;
            };
            if let Decision::Call(call) = *decision {
                assert!(
                    sent.insert((call.work.clone(), call.attempt)),
                    "{} was sent twice",
                    call.work
                );
            }
        }
        folded
    }
}
