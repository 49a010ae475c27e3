//! A log in memory, a scripted model over HTTP, and an executor between them.

use broker::{
    Broker,
    bus::Message,
    kv::Bucket,
    log::{CasOutcome, LogError},
    memory::{self, MemoryOptions},
    testing::wait::soon,
};
use executor_actor::{Setup, options, start};
use futures::{StreamExt, stream::BoxStream};
use model::{
    ProviderConfig, ProviderKind,
    script::{Script, ScriptServer, serve},
};
use proto::{
    decision::Decision,
    entry::Entry,
    fact::Fact,
    id::{JobId, Seq},
    record::Known,
    subject::Subjects,
    trace::TraceContext,
};
use runtime::{
    actor::{Restarts, Tree},
    registry::Registry,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Everything a job's executor needs, and the job's log.
pub(crate) struct Stage {
    pub(crate) broker: Broker,
    pub(crate) server: ScriptServer,
    pub(crate) job: JobId,
    entries: BoxStream<'static, Result<Entry, LogError>>,
    last: Seq,
    shutdown: CancellationToken,
    tree: Tree,
}

impl Stage {
    /// An executor with the tools `create_task` and `complete_task`, whose model speaks by a script.
    pub(crate) async fn new(script: &str) -> Self {
        let broker = memory::start(Subjects::new("cb", 2).unwrap(), MemoryOptions::default());
        for (name, property) in [("create_task", "title"), ("complete_task", "id")] {
            announce(&broker, name, property).await;
        }
        let server =
            serve(Script::parse(script).unwrap(), "127.0.0.1:0".parse().unwrap()).await.unwrap();
        let mut config = ProviderConfig::new(ProviderKind::OpenAi, "m");
        config.base_url = Some(server.base_url().parse().unwrap());
        config.retry.max_attempts = 1;
        let shutdown = CancellationToken::new();
        let setup = Setup {
            broker: broker.clone(),
            worker: "w".parse().unwrap(),
            model: model::connect(&config).unwrap(),
            registry: Registry::open(&broker).await.unwrap(),
            options: options(4),
            shutdown: shutdown.clone(),
        };
        let (child, _gauge) = start(setup);
        let tree = Tree::start("test", Restarts::default(), vec![child]).await.unwrap();
        let job: JobId = "job-1".parse().unwrap();
        let entries = broker.log.watch(&job, Seq(0)).await.unwrap();
        Self { broker, server, job, entries, last: Seq(0), shutdown, tree }
    }

    /// Stores a command for the executor, over what is usual.
    pub(crate) async fn command(&mut self, fields: Value) {
        let mut work = json!({
            "work": "g0.s1.r1.t1", "attempt": 1, "step": "step1", "turn": 1, "max_turns": 10,
            "language": "en", "may_ask": true
        });
        for (name, value) in fields.as_object().unwrap() {
            work[name] = value.clone();
        }
        let decision = Decision::Turn(serde_json::from_value(work).unwrap());
        let trace = TraceContext::new(1, 1, true);
        let stored = self.broker.log.decide(&self.job, &decision, self.last, None, trace).await;
        let CasOutcome::Stored(at) = stored.unwrap() else { panic!("the decision was not stored") };
        self.last = at;
    }

    /// Stores what came of a call.
    pub(crate) async fn called(&self, work: &str, result: Value) {
        let called = json!({"work": work, "attempt": 1, "result": result});
        let fact = Fact::Called(serde_json::from_value(called).unwrap());
        self.broker.log.append(&self.job, &fact, TraceContext::new(1, 1, true)).await.unwrap();
    }

    /// The next fact of a turn in the log, as JSON, and where it stands.
    pub(crate) async fn fact(&mut self) -> (Seq, Value) {
        loop {
            let entry = soon("a fact", self.entries.next()).await.unwrap().unwrap();
            if let Known::Fact(fact) = entry.record.unwrap().known().unwrap() {
                let Fact::Turned(turned) = *fact else { continue };
                return (entry.seq, serde_json::to_value(turned).unwrap());
            }
        }
    }

    /// What is said while the job's commands are carried out, from now on.
    pub(crate) async fn listen(&self) -> BoxStream<'static, Message> {
        self.broker.bus.subscribe(self.broker.log.subjects().live(&self.job)).await.unwrap()
    }

    /// Ends the executor; it must end by itself.
    pub(crate) async fn end(self) {
        self.shutdown.cancel();
        soon("the end of the executor", self.tree.ended()).await;
        self.server.shutdown().await;
    }
}

async fn announce(broker: &Broker, name: &str, property: &str) {
    let kind = if property == "id" { "integer" } else { "string" };
    let schema = json!({
        "type": "object", "properties": {property: {"type": kind}}, "required": [property]
    });
    let announcement = json!({
        "name": name, "description": format!("does {name}"), "schema": schema,
        "effect": "idempotent", "pool": "p", "version": "7", "by": "tools-1"
    });
    let value = serde_json::to_vec(&announcement).unwrap().into();
    broker.kv.put(Bucket::Tools, name, value).await.unwrap();
}
