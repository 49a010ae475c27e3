//! A job written record by record, and a pool that carries out its calls.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use broker::{
    Broker,
    log::CasOutcome,
    memory::{Memory, MemoryOptions},
    nats::{self, NatsOptions},
    testing::{NatsServer, wait::soon},
};
use callboard_tool_actors::{CallContext, Tool, ToolActor, ToolFault, Toolset};
use futures::StreamExt;
use proto::{
    agent::Agent,
    decision::{CallWork, Decision, DecisionKind},
    entry::Entry,
    fact::{Called, Fact, Source, Started, Submitted},
    id::{Attempt, JobId, Pool, Seq, StepId, ToolName, WorkId, WorkerId},
    lang::Language,
    message::Usage,
    record::Known,
    subject::Subjects,
    tool::{Approval, Effect, ToolResult, ToolSpec},
    trace::TraceContext,
};
use ractor::{Actor, ActorRef};
use runtime::worker::{PoolActor, PoolArgs, PoolMsg, PoolOptions};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub(crate) fn subjects() -> Subjects {
    Subjects::new("cb", 2).unwrap()
}

pub(crate) fn memory() -> Memory {
    Memory::new(subjects(), MemoryOptions::default())
}

pub(crate) fn worker(name: &str) -> WorkerId {
    WorkerId::new(name).unwrap()
}

/// Opens a connection to a real nats-server.
pub(crate) async fn connect(server: &NatsServer) -> Broker {
    let options = NatsOptions { servers: vec![server.url().to_owned()], ..NatsOptions::default() };
    nats::connect(&options, subjects(), worker("test")).await.unwrap()
}

fn trace() -> TraceContext {
    TraceContext::new(7, 7, false)
}

/// A job whose supervisor is the test.
pub(crate) struct Stage {
    pub(crate) broker: Broker,
    pub(crate) job: JobId,
    last: Seq,
}

impl Stage {
    pub(crate) async fn new(broker: Broker, job: &str) -> Self {
        let job = JobId::new(job).unwrap();
        let submitted = Fact::Submitted(Submitted {
            goal: "test".into(),
            agent: Agent::default(),
            language: Language::En,
            language_detected: false,
            digest: "0".into(),
            by: None,
            conversation: None,
            parent: None,
            agents: Default::default(),
            forked: None,
            plan: None,
            workflow: None,
            files: Vec::new(),
            labels: proto::label::Labels::default(),
            rules: proto::rules::Rules::NOW,
        });
        broker.log.submit(&job, &submitted, trace()).await.unwrap();
        Self { broker, job, last: Seq(0) }
    }

    pub(crate) async fn decide(&mut self, call: &CallWork) {
        self.store(&Decision::Call(call.clone())).await;
    }

    pub(crate) async fn store(&mut self, decision: &Decision) {
        let decided = self.broker.log.decide(&self.job, decision, self.last, None, trace()).await;
        let CasOutcome::Stored(seq) = decided.unwrap() else { panic!("nobody else decides") };
        self.last = seq;
    }

    /// Announces the start of an attempt, as another worker would.
    pub(crate) async fn start(&self, call: &CallWork) {
        let started = Fact::Started(Started { work: call.work.clone(), attempt: call.attempt });
        let source = Source::Call(call.pool.clone());
        self.broker.log.append_from(&source, &self.job, &started, trace()).await.unwrap();
    }

    /// Waits until the log contains `count` results, and returns all of them.
    pub(crate) async fn called(&self, count: usize) -> Vec<Called> {
        let mut entries = self.broker.log.watch(&self.job, Seq(0)).await.unwrap();
        let collect = async {
            let mut found = Vec::new();
            while found.len() < count {
                let entry = entries.next().await.unwrap().unwrap();
                found.extend(called(&entry));
            }
            found
        };
        soon("the answer to a call", collect).await
    }

    /// Waits for the first result of an attempt, whatever other results come before it.
    pub(crate) async fn answer(&self, call: &CallWork) -> Called {
        let mut entries = self.broker.log.watch(&self.job, Seq(0)).await.unwrap();
        let found = async {
            loop {
                let entry = entries.next().await.unwrap().unwrap();
                match called(&entry) {
                    Some(found) if (&found.work, found.attempt) == (&call.work, call.attempt) => {
                        return found;
                    }
                    _ => {}
                }
            }
        };
        soon("the answer to the attempt", found).await
    }

    /// Appends a call and waits for its result.
    pub(crate) async fn ask(&mut self, call: &CallWork) -> Called {
        let before = self.results().await.len();
        self.decide(call).await;
        self.called(before + 1).await.pop().unwrap()
    }

    /// Returns the results in the log now.
    pub(crate) async fn results(&self) -> Vec<Called> {
        let entries = self.broker.log.read(&self.job, Seq(0)).await.unwrap();
        entries.iter().filter_map(called).collect()
    }
}

fn called(entry: &Entry) -> Option<Called> {
    match entry.record.as_ref().unwrap().known().unwrap() {
        Known::Fact(fact) => match *fact {
            Fact::Called(called) => Some(called),
            _ => None,
        },
        Known::Decision(_) => None,
    }
}

/// Builds the first attempt at a call.
pub(crate) fn call(work: &str, pool: &str, tool: &str, effect: Effect, args: Value) -> CallWork {
    CallWork {
        work: WorkId::new(work).unwrap(),
        attempt: Attempt::FIRST,
        step: StepId::new("1").unwrap(),
        tool: ToolName::new(tool).unwrap(),
        version: "1".into(),
        pool: Pool::new(pool).unwrap(),
        effect,
        destructive: false,
        untrusted: false,
        args,
        idempotency_key: format!("job/{work}"),
        approved: None,
        remembered: None,
        hosts: None,
        refused: None,
        language: Language::En,
    }
}

/// A running pool of calls.
pub(crate) struct Crew {
    actor: ActorRef<PoolMsg>,
    shutdown: CancellationToken,
    ended: tokio::task::JoinHandle<()>,
}

impl Crew {
    /// Starts a pool for a toolset.
    pub(crate) async fn start(broker: &Broker, name: &str, tools: Toolset) -> Self {
        let options = PoolOptions::new(DecisionKind::Call, tools.pool().clone(), 8);
        let role = ToolActor::new(broker.clone(), Arc::new(tools), None);
        let shutdown = CancellationToken::new();
        let args = PoolArgs::new(broker.clone(), worker(name), role, options, shutdown.clone());
        let (actor, ended) = Actor::spawn(None, PoolActor::default(), args).await.unwrap();
        Self { actor, shutdown, ended }
    }

    /// Aborts like a killed process: nothing is reported, no delivery is released.
    pub(crate) fn kill(self) {
        self.actor.get_cell().kill();
    }

    /// Shuts down after the running calls.
    pub(crate) async fn drain(self) {
        self.shutdown.cancel();
        soon("the end of a drain", self.ended).await.unwrap();
    }
}

/// A tool that signals its start, waits for permission to end, and records its idempotency keys.
#[derive(Clone)]
pub(crate) struct Probe {
    effect: Effect,
    pub(crate) began: Arc<Notify>,
    pub(crate) may_end: Arc<Notify>,
    pub(crate) keys: Arc<Mutex<Vec<String>>>,
}

impl Probe {
    pub(crate) fn new(effect: Effect) -> Self {
        Self { effect, began: Arc::default(), may_end: Arc::default(), keys: Arc::default() }
    }

    pub(crate) fn runs(&self) -> Vec<String> {
        self.keys.lock().unwrap().clone()
    }

    pub(crate) fn set(&self) -> Toolset {
        Toolset::new(Pool::new("p").unwrap(), vec![Arc::new(self.clone())]).unwrap()
    }

    pub(crate) fn call(&self, work: &str, what: &str) -> CallWork {
        call(work, "p", "probe", self.effect, json!({"do": what}))
    }

    pub(crate) async fn running(&self) {
        soon("the tool", self.began.notified()).await;
    }
}

#[async_trait]
impl Tool for Probe {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: ToolName::new("probe").unwrap(),
            description: "Does what it is told.".into(),
            schema: json!({
                "type": "object", "required": ["do"], "additionalProperties": false,
                "properties": {"do": {"type": "string"}},
            }),
            effect: self.effect,
            pool: Pool::new("p").unwrap(),
            timeout_ms: 60_000,
            concurrency: 16,
            approval: Approval::Never,
            destructive: false,
            untrusted: false,
            version: "1".into(),
            commands: Vec::new(),
            translations: BTreeMap::new(),
        }
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        self.keys.lock().unwrap().push(context.idempotency_key.clone());
        self.began.notify_one();
        match args["do"].as_str().unwrap() {
            "wait" => self.may_end.notified().await,
            "panic" => panic!("lost my mind"),
            "pay" | "pay and panic" => {
                context.meter.spend(Usage::reported(5, 7));
                context.meter.pay(0.25);
                assert!(args["do"] == "pay", "lost my mind");
            }
            "large" => return Ok(ToolResult::ok(Value::from("x".repeat(200 * 1024)))),
            _ => {}
        }
        Ok(ToolResult::ok(json!("done")))
    }
}
