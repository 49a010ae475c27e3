//! Tests of the reasons why jobs do not move, as the front door shows them.

use std::{sync::Arc, time::Duration};

use broker::{
    Broker,
    bus::RequestContext,
    memory::{MemoryOptions, VirtualClock},
    testing::{
        jobs,
        wait::{PATIENCE, eventually, soon},
    },
};
use bytes::Bytes;
use futures::StreamExt;
use proto::{
    decision::DecisionKind,
    door::Watched,
    fact::{Fact, PlanReply, Planned, Signal},
    family::{Offered, as_tools, child_id},
    id::{AgentName, Attempt, JobId, Pool, Seq, Shard, WorkId, WorkerId},
    lang::Language,
    tool::{Binding, Effect, ToolSpec},
    work_error::{ErrorClass, WorkError},
};
use ractor::Actor;
use runtime::{
    presence::{Beacon, Crew, Status},
    registry,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{
    hall::{Hall, Setup},
    turning::{drive, tell},
};

/// Longest time until the death of a worker is seen.
const SEEN_WITHIN: Duration = Duration::from_secs(10);

fn python() -> Pool {
    Pool::new("python").unwrap()
}

/// Announces a worker of the pool `python` every second, until it is dropped.
fn worker(broker: &Broker) -> AbortOnDropHandle<()> {
    let broker = broker.clone();
    AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            let message = json!({"v": 1, "pools": [{"pool": "call.python", "capacity": 4}]});
            let subject = "cb.crew.worker.python-1".to_owned();
            broker.bus.publish(subject, message.to_string().into()).await.unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }))
}

/// Announces a supervisor that owns every shard.
async fn supervisor(broker: &Broker) {
    let clock = VirtualClock::new();
    let (id, token) = (WorkerId::new("supervisor").unwrap(), CancellationToken::new());
    let status = Status::new(id, vec!["supervisor".to_owned()], "1", &clock, token);
    (0..4).for_each(|shard| status.set_shard(Shard(shard), true));
    Actor::spawn(None, Beacon, (broker.clone(), status)).await.unwrap();
}

/// Creates a job whose only step is a call of a tool in the pool `python`.
async fn calling(hall: &Hall) -> JobId {
    let job = JobId::new("j").unwrap();
    hall.ask("submit", r#"{"id":"j","goal":"count","agent":"unattended"}"#).await.unwrap();
    drive(hall, &job).await;
    let binding = Binding { pool: python(), ..jobs::binding(Effect::Pure) };
    let step = jobs::step("one", "word_count", json!({"text": "to be"}), binding);
    tell(hall, &job, Fact::Planned(jobs::planned(vec![step]))).await;
    job
}

/// Announces the tool that the job calls.
async fn announce(broker: &Broker) {
    let spec: ToolSpec = serde_json::from_value(json!({
        "name": "word_count", "description": "Counts words.", "effect": "pure", "pool": "python",
        "schema": {"type": "object"},
    }))
    .unwrap();
    let by = WorkerId::new("python-1").unwrap();
    registry::announce(broker, spec, &by, &Crew::open(broker)).await.unwrap();
}

/// Returns the codes of a job's reasons in `get`, and that of the first one in `list`.
async fn codes(hall: &Hall) -> (Vec<String>, Value) {
    let view = hall.ask("get", r#"{"job":"j"}"#).await.unwrap();
    let all = view["why"].as_array().unwrap().iter();
    let listed = hall.ask("list", "").await.unwrap();
    let all = all.map(|why| why["code"].as_str().unwrap().to_owned()).collect();
    (all, listed["jobs"][0]["why"]["code"].clone())
}

async fn hall() -> Hall {
    let clock = Arc::new(VirtualClock::new());
    let options = MemoryOptions { clock, ..MemoryOptions::default() };
    Hall::with(options, Setup::default()).await
}

#[tokio::test(start_paused = true)]
async fn a_dead_worker_in_another_language_is_seen_within_ten_seconds_in_every_place() {
    let hall = hall().await;
    supervisor(&hall.broker).await;
    let live = worker(&hall.broker);
    announce(&hall.broker).await;
    let _job = calling(&hall).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(codes(&hall).await, (vec!["queued".to_owned()], json!("queued")));
    let slots = Arc::new(Semaphore::new(1));
    let mut calls = hall.broker.log.commands(DecisionKind::Call, &python(), slots).await.unwrap();
    let _held = soon("the call", calls.next()).await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(codes(&hall).await, (vec!["running".to_owned()], json!("running")));
    let tools = hall.ask("tools", "").await.unwrap();
    assert_eq!(tools["workers"], json!({"word_count": 1}));

    drop(live);
    tokio::time::sleep(SEEN_WITHIN).await;
    assert_eq!(codes(&hall).await, (vec!["no_worker".to_owned()], json!("no_worker")));
    let tools = hall.ask("tools", "").await.unwrap();
    assert_eq!(tools["workers"], json!({"word_count": 0}));
    let crew = hall.ask("crew", "").await.unwrap();
    assert_eq!(crew["workers"].as_array().unwrap().len(), 1, "{crew}");
}

#[tokio::test(start_paused = true)]
async fn a_job_needs_attention_while_no_worker_takes_its_command_and_the_queue_says_how_many() {
    let hall = hall().await;
    supervisor(&hall.broker).await;
    let slots = Arc::new(Semaphore::new(0));
    // The queue of a pool begins with its first worker.
    let _queue = hall.broker.log.commands(DecisionKind::Call, &python(), slots).await.unwrap();
    let _job = calling(&hall).await;
    eventually("a reason", async || match codes(&hall).await.1 {
        code if code == "no_worker" => Ok(()),
        other => Err(other),
    })
    .await;
    let attention = async || {
        let listed = hall.ask("list", r#"{"attention":true}"#).await.unwrap();
        let counted = hall.ask("count", r#"{"attention":true}"#).await.unwrap();
        (listed["jobs"].as_array().unwrap().len(), counted["open"].clone())
    };
    assert_eq!(attention().await, (1, json!(1)));
    let crew = hall.ask("crew", r#"{"queues":true}"#).await.unwrap();
    let of_python = json!({"kind": "call", "pool": "python", "waiting": 1});
    assert!(crew["queues"].as_array().unwrap().contains(&of_python), "{crew}");

    let _live = worker(&hall.broker);
    eventually("no job that needs attention", async || match attention().await {
        (0, open) if open == 0 => Ok(()),
        other => Err(other),
    })
    .await;
    assert_eq!(hall.ask("crew", "").await.unwrap().get("queues"), None);
}

#[tokio::test(start_paused = true)]
async fn a_watcher_is_told_of_a_dead_worker_without_a_record_of_the_job() {
    let hall = hall().await;
    supervisor(&hall.broker).await;
    let live = worker(&hall.broker);
    let _job = calling(&hall).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let subject = hall.broker.log.subjects().service("watch");
    let (body, context) = (Bytes::from_static(br#"{"job":"j"}"#), RequestContext::default());
    let answers = hall.broker.bus.request_many(subject, body, context, PATIENCE).await.unwrap();
    let views = answers.filter_map(|message| async {
        match serde_json::from_slice(&message.unwrap().payload).unwrap() {
            Watched::View { view } => Some(view),
            Watched::Record { .. }
            | Watched::Event { .. }
            | Watched::Live { .. }
            | Watched::End { .. }
            | Watched::Heartbeat => None,
        }
    });
    let mut views = std::pin::pin!(views);
    let first = soon("a view", views.next()).await.unwrap();
    assert_eq!(first.why[0].reason.code(), "queued");
    drop(live);
    let second = soon("another view", views.next()).await.unwrap();
    assert_eq!((second.why[0].reason.code(), second.seq), ("no_worker", first.seq));
}

#[tokio::test(start_paused = true)]
async fn a_shard_without_a_supervisor_is_the_reason_of_its_jobs() {
    let hall = hall().await;
    hall.ask("submit", r#"{"id":"j","goal":"count"}"#).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(codes(&hall).await.1, json!("no_supervisor"));
    supervisor(&hall.broker).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(codes(&hall).await.1, json!("deciding"));
}

#[tokio::test]
async fn the_outage_of_a_child_is_the_reason_of_its_parent_and_a_retry_reaches_the_child() {
    let hall = Hall::new().await;
    let job = JobId::new("j").unwrap();
    let agent = json!({"confirm": false, "agents": ["unattended"]});
    let body = json!({"id": "j", "goal": "look", "agent": agent}).to_string();
    hall.ask("submit", body).await.unwrap();
    drive(&hall, &job).await;
    let name = AgentName::new("unattended").unwrap();
    let binding = as_tools(&[Offered { name, about: String::new() }], Language::En)[0].binding();
    let step = jobs::step("one", "unattended", json!({"goal": "look"}), binding);
    tell(&hall, &job, Fact::Planned(jobs::planned(vec![step]))).await;
    let first = hall.broker.log.read(&job, Seq(0)).await.unwrap()[0].seq;
    let child = child_id(&job, first, &WorkId::new("g0.r0.one").unwrap(), Attempt::FIRST);
    drive(&hall, &child).await;
    let error = WorkError::new("the model provider cannot be reached", ErrorClass::Outage);
    let reply = PlanReply::Failed { error };
    tell(&hall, &child, Fact::Planned(Planned { reply, ..jobs::planned(Vec::new()) })).await;

    let view = hall.ask("get", r#"{"job":"j"}"#).await.unwrap();
    let why = &view["why"][0];
    assert_eq!((&why["code"], &why["job"]), (&json!("child"), &json!(child)));
    assert_eq!(why["why"]["code"], "outage", "{why}");
    assert_eq!(why["until"], why["why"]["until"]);

    hall.ask("signal", r#"{"job":"j","signal":"retry","reason":"it is back","by":"ann"}"#)
        .await
        .unwrap();
    let entries = hall.broker.log.read(&child, Seq(0)).await.unwrap();
    let signal = entries.iter().find_map(proto::entry::Entry::signal).unwrap();
    assert_eq!((signal.signal, signal.by.as_deref()), (Signal::Retry, Some("ann")));
    let retried = drive(&hall, &child).await;
    assert!(retried.has_work_out(), "the next attempt of the child is sent");
    // Nothing waits any more, in the job or below it.
    let (code, _) = hall.refused("signal", r#"{"job":"j","signal":"retry"}"#).await;
    assert_eq!(code, proto::error::Code::NotFound);
}
