//! The Python worker of examples/python-worker on a real nats-server. It uses only what
//! docs/tools.md documents for programs in other languages.

use std::{
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::Arc,
};

use broker::{
    Broker,
    bus::RequestContext,
    testing::{
        NatsServer,
        wait::{PATIENCE, soon},
    },
};
use futures::StreamExt;
use proto::{
    decision::{Decision, DecisionKind, Finish},
    id::{Attempt, Generation, JobId, Pool, Shard},
    job::Outcome,
    message::Usage,
    tool::{Effect, Fault},
};
use runtime::registry::Registry;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::{
    process::{Child, Command},
    sync::Semaphore,
};

use crate::support::{Stage, call, connect};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// Finds a Python with nats-py: the one of `make test`, or the machine's.
async fn interpreter() -> PathBuf {
    for python in [root().join(".tools/venv/bin/python3"), PathBuf::from("python3")] {
        let mut has = Command::new(&python);
        has.args(["-c", "import nats"]).stdout(Stdio::null()).stderr(Stdio::null());
        if has.status().await.is_ok_and(|status| status.success()) {
            return python;
        }
    }
    panic!(
        "no Python with nats-py: run `make python`, which sets one up in .tools/venv, or \
         `pip install --require-hashes -r examples/python-worker/requirements.txt`"
    );
}

/// A running Python worker, killed on drop.
struct Snake(Child);

impl Snake {
    async fn start(server: &NatsServer, dir: &Path) -> Self {
        let mut python = Command::new(interpreter().await);
        // Keeps bytecode out of the source tree.
        python.arg("-B").arg(root().join("examples/python-worker/worker.py"));
        python.args(["--servers", server.url()]).arg("--data").arg(dir.join("lines.sqlite"));
        Self(python.stdin(Stdio::null()).kill_on_drop(true).spawn().unwrap())
    }

    async fn end(mut self, signal: Signal) -> ExitStatus {
        let id = i32::try_from(self.0.id().expect("it still runs")).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
        soon("the end of the worker", self.0.wait()).await.unwrap()
    }
}

fn python() -> Pool {
    Pool::new("python").unwrap()
}

/// Callboard's own workers reject consumers with other settings than their own; here they take a
/// call through the Python worker's consumers.
async fn takes_through_the_consumers(broker: &Broker, stage: &mut Stage) {
    let slots = Arc::new(Semaphore::new(1));
    let mut calls = broker.log.commands(DecisionKind::Call, &python(), slots).await.unwrap();
    let args = json!({"text": "x"});
    stage.decide(&call("g9.s9", "python", "word_count", Effect::Pure, args)).await;
    let taken = soon("a call", calls.next()).await.unwrap().unwrap();
    assert_eq!((&taken.entry.job, taken.delivered), (&stage.job, 1));
    taken.ack.done().await;
}

/// Waits until a tool is in the registry.
async fn announced(registry: &Registry, tool: &str) {
    let tool = tool.parse().unwrap();
    let mut changes = registry.watch();
    let seen = async {
        while registry.get(&tool).is_none() {
            changes.changed().await.unwrap();
        }
    };
    soon("the tool", seen).await;
}

/// Returns one job id per shard.
async fn stages(broker: &Broker) -> Vec<Stage> {
    let mut stages = Vec::new();
    for shard in broker.log.subjects().all_shards() {
        let name = (0..).map(|n| format!("job-{n}")).find(|name| {
            Shard::of(&JobId::new(name).unwrap(), broker.log.subjects().shards()) == shard
        });
        stages.push(Stage::new(broker.clone(), &name.unwrap()).await);
    }
    stages
}

#[tokio::test]
async fn a_worker_in_python_runs_no_call_of_a_job_that_has_ended() {
    let (server, dir) = (NatsServer::start().await, tempfile::tempdir().unwrap());
    let broker = connect(&server).await;
    let mut stage = Stage::new(broker.clone(), "ended").await;
    let append = |work: &str, line: &str| {
        call(work, "python", "append_line", Effect::Idempotent, json!({ "line": line }))
    };
    stage.decide(&append("g0.s1", "too late")).await;
    let outcome = Outcome::Canceled { reason: None };
    let (usage, generation) = (Usage::default(), Generation::FIRST);
    stage.store(&Decision::Finish(Finish { outcome, usage, generation })).await;
    let _snake = Snake::start(&server, dir.path()).await;
    // After a rollback the job goes on, and its call is a new command.
    let called = stage.ask(&append("g1.s1", "in time")).await;
    assert_eq!(called.result.data, Some(json!({"number": 1, "line": "in time"})), "{called:?}");
}

#[tokio::test]
async fn a_worker_in_python_announces_answers_and_drains() {
    let (server, dir) = (NatsServer::start().await, tempfile::tempdir().unwrap());
    let broker = connect(&server).await;
    let registry = Registry::open(&broker).await.unwrap();
    let snake = Snake::start(&server, dir.path()).await;
    announced(&registry, "word_count").await;
    announced(&registry, "append_line").await;
    assert!(registry.refused().is_empty());

    let mut stages = stages(&broker).await;
    for stage in &mut stages {
        let count = |work: &str, args| call(work, "python", "word_count", Effect::Pure, args);
        let called = stage.ask(&count("g0.s1", json!({"text": "to be or\nnot"}))).await;
        assert_eq!(
            called.result.data,
            Some(json!({"words": 4, "characters": 12, "lines": 2})),
            "{called:?}"
        );
        let long = json!({"text": "字 ".repeat(40_000)});
        assert_eq!(stage.ask(&count("g0.s2", long)).await.result.data.unwrap()["words"], 40_000);
        // A result too large to be inline in its record; the same value in both shards.
        let line = json!({"line": "字".repeat(60_000)});
        let append = call("g0.s7", "python", "append_line", Effect::Idempotent, line.clone());
        assert_eq!(stage.ask(&append).await.result.data.unwrap()["line"], line["line"]);
        let called = stage.ask(&count("g0.s3", json!({"txet": "x"}))).await;
        assert_eq!(called.fault, Some(Fault::InvalidArguments));
        assert!(called.result.error.unwrap().starts_with("text:"));
        let mut old = count("g0.s4", json!({"text": "x"}));
        old.version = "0".into();
        assert_eq!(stage.ask(&old).await.fault, Some(Fault::VersionMismatch));
        let mut approved = count("g0.s5", json!({"text": "x"}));
        approved.approved = Some("something else".into());
        assert_eq!(stage.ask(&approved).await.fault, Some(Fault::VersionMismatch));
        approved.work = "g0.s6".parse().unwrap();
        approved.approved = Some(proto::interaction::approval_digest(
            &stage.job,
            "g0.s6",
            &approved.tool,
            "1",
            &approved.args,
        ));
        assert!(stage.ask(&approved).await.result.success);
    }
    // Every command is acknowledged, and the consumers have the same settings as Callboard's.
    assert!(snake.end(Signal::TERM).await.success());
    let depth = broker.log.depth(DecisionKind::Call, &python()).await.unwrap();
    assert_eq!((depth.pending, depth.in_flight), (0, 0));
    for stage in &mut stages {
        takes_through_the_consumers(&broker, stage).await;
    }
}

#[tokio::test]
async fn a_call_that_waited_for_a_killed_worker_is_answered_once_by_the_next() {
    let (server, dir) = (NatsServer::start().await, tempfile::tempdir().unwrap());
    let broker = connect(&server).await;
    let registry = Registry::open(&broker).await.unwrap();
    let mut stage = Stage::new(broker.clone(), "job").await;
    let append = |work: &str, line: &str| {
        call(work, "python", "append_line", Effect::Idempotent, json!({"line": line}))
    };
    let snake = Snake::start(&server, dir.path()).await;
    announced(&registry, "append_line").await;
    let first = stage.ask(&append("g0.s1", "a")).await.result;
    assert_eq!(first.data, Some(json!({"number": 1, "line": "a"})));
    assert!(!snake.end(Signal::KILL).await.success());

    // The machine never received the result and retries: another attempt, the same key.
    let mut again = append("g0.s1", "a");
    again.attempt = Attempt::FIRST.next();
    stage.decide(&again).await;
    let _next = Snake::start(&server, dir.path()).await;
    assert_eq!(stage.answer(&again).await.result, first);
    let other = append("g0.s2", "b");
    stage.decide(&other).await;
    let other = stage.answer(&other).await.result;
    assert_eq!(other.data, Some(json!({"number": 2, "line": "b"})));
    // A worker that is killed between its answer and the acknowledgement lets the next one answer
    // the first attempt again, with the same result.
    let answers = stage.results().await;
    assert!(answers.iter().all(|called| called.work != again.work || called.result == first));
    let of_again = answers
        .iter()
        .filter(|called| (&called.work, called.attempt) == (&again.work, again.attempt));
    assert_eq!(of_again.count(), 1);
}

#[tokio::test]
async fn the_consumer_of_the_documentation_is_the_one_that_is_wanted() {
    let server = NatsServer::start().await;
    let broker = connect(&server).await;
    let example = crate::docs::example("consumer");
    let answer = broker
        .bus
        .request(
            "$JS.API.CONSUMER.CREATE.cb-shard-0.call-python".into(),
            example.into(),
            RequestContext::default(),
            PATIENCE,
        )
        .await
        .unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&answer.payload).unwrap();
    assert!(answer.get("error").is_none(), "{answer}");
    takes_through_the_consumers(&broker, &mut stages(&broker).await[0]).await;
}
