//! Test support for every crate: a stage for one worker role, and a role made of a function.
//!
//! It is no Cargo feature, like [`broker::testing`], and production code must not use it.

use std::future::Future;

use broker::{
    Broker,
    bus::Message,
    kv::Bucket,
    log::{CasOutcome, LogError},
    memory::{self, MemoryOptions},
    testing::wait::soon,
};
use futures::{StreamExt, stream::BoxStream};
use proto::{
    decision::Decision,
    entry::Entry,
    fact::Fact,
    id::{JobId, Seq, WorkerId},
    record::Known,
    subject::Subjects,
    tool::Effect,
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio_util::sync::CancellationToken;

use crate::{
    actor::{Restarts, Tree},
    telemetry::new_trace,
    worker::{Assignment, Command, Failure, PoolArgs, PoolOptions, Role, Task},
};

/// A pool of one role on an in-memory log, and the log of one job.
pub struct RoleStage {
    /// The broker, for the test's own use.
    pub broker: Broker,
    /// The id of the job.
    pub job: JobId,
    entries: BoxStream<'static, Result<Entry, LogError>>,
    last: Seq,
    shutdown: CancellationToken,
    tree: Tree,
}

impl std::fmt::Debug for RoleStage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RoleStage").field("job", &self.job).finish_non_exhaustive()
    }
}

impl RoleStage {
    /// Creates an in-memory broker. For each tool the registry has an announcement whose properties
    /// are all required arguments.
    ///
    /// # Panics
    ///
    /// Panics if a name or an argument is not valid.
    pub async fn broker(tools: &[(&str, serde_json::Value)]) -> Broker {
        let subjects = Subjects::new("cb", 2).expect("the prefix is valid");
        let broker = memory::start(subjects, MemoryOptions::default());
        for (name, properties) in tools {
            let required: Vec<_> =
                properties.as_object().into_iter().flat_map(|p| p.keys()).collect();
            let announcement = serde_json::json!({
                "name": name, "description": format!("does {name}"),
                "schema": {"type": "object", "properties": properties, "required": required},
                "effect": "idempotent", "pool": "p", "version": "7", "by": "tools-1",
            });
            let value = announcement.to_string().into_bytes().into();
            broker.kv.put(Bucket::Tools, name, value).await.expect("a bucket in memory");
        }
        broker
    }

    /// Starts a pool of `role`.
    ///
    /// # Panics
    /// Panics if the pool does not start.
    pub async fn start<R: Role>(broker: Broker, role: R, options: PoolOptions) -> Self {
        let shutdown = CancellationToken::new();
        let worker = WorkerId::new("w").expect("a valid name");
        let args = PoolArgs::new(broker.clone(), worker, role, options, shutdown.clone());
        let (pool, _gauge) = args.into_child(R::NAME);
        let tree = Tree::start("test", Restarts::default(), vec![pool]).await.expect("a pool");
        let job = JobId::new("job-1").expect("a valid name");
        let entries = broker.log.watch(&job, Seq(0)).await.expect("a log in memory");
        Self { broker, job, entries, last: Seq(0), shutdown, tree }
    }

    /// Appends a decision to the job's log.
    ///
    /// # Panics
    /// Panics if the decision cannot be stored.
    pub async fn decide(&mut self, decision: &Decision) {
        let stored = self.broker.log.decide(&self.job, decision, self.last, None, new_trace());
        let stored = match stored.await.expect("a log in memory") {
            CasOutcome::Stored(at) => Some(at),
            CasOutcome::Conflict => None,
        };
        self.last = stored.expect("only the stage decides");
    }

    /// Appends a fact to the job's log.
    ///
    /// # Panics
    /// Panics if the fact cannot be stored.
    pub async fn append(&self, fact: &Fact) {
        self.broker.log.append(&self.job, fact, new_trace()).await.expect("a log in memory");
    }

    /// Waits for the next fact in the log, and returns it with its position.
    ///
    /// # Panics
    /// Panics if no fact arrives in time, or if a record cannot be read.
    pub async fn fact(&mut self) -> (Seq, Fact) {
        loop {
            let entry = soon("a fact", self.entries.next()).await.expect("the log does not end");
            let entry = entry.expect("a log in memory");
            let record = entry.record.expect("a readable record");
            if let Known::Fact(fact) = record.known().expect("a known record") {
                return (entry.seq, *fact);
            }
        }
    }

    /// Subscribes to the live updates of the job.
    ///
    /// # Panics
    /// Panics if the subscription fails.
    pub async fn listen(&self) -> BoxStream<'static, Message> {
        let live = self.broker.log.subjects().live(&self.job);
        self.broker.bus.subscribe(live).await.expect("a bus in memory")
    }

    /// Shuts the pool down, and waits for its end.
    pub async fn end(self) {
        self.shutdown.cancel();
        soon("the end of the pool", self.tree.ended()).await;
    }
}

/// A command of any kind, unparsed.
#[derive(Debug)]
pub struct AnyCommand(pub Decision);

impl Command for AnyCommand {
    fn parse(decision: &Decision) -> Option<Self> {
        Some(Self(decision.clone()))
    }

    fn failed(&self, _: &Failure) -> Option<Fact> {
        None
    }

    fn stops_when_cut_off(&self) -> bool {
        matches!(&self.0, Decision::Call(call) if call.effect != Effect::Pure)
    }
}

/// A role whose commands a function carries out.
#[derive(Debug, Clone)]
pub struct FnRole<F>(pub F);

impl<F, W> Role for FnRole<F>
where
    F: Fn(Task<AnyCommand>) -> W + Clone + Send + Sync + 'static,
    W: Future<Output = Option<Fact>> + Send + 'static,
{
    const NAME: &'static str = "test";
    type Command = AnyCommand;

    fn run(&self, task: Task<AnyCommand>) -> impl Future<Output = Option<Fact>> + Send {
        (self.0)(task)
    }
}

impl<F, W> Actor for FnRole<F>
where
    F: Fn(Task<AnyCommand>) -> W + Clone + Send + Sync + 'static,
    W: Future<Output = Option<Fact>> + Send + 'static,
{
    type Msg = Assignment<AnyCommand>;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Self::Msg>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        assignment: Self::Msg,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        assignment.carry_out(&myself, &self.0).await;
        Ok(())
    }
}
