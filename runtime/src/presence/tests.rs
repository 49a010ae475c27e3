//! Tests of presence: processes that appear, change, fall silent and leave.

use std::collections::BTreeMap;

use broker::{
    memory::{self, MemoryOptions},
    testing::ManualClock,
};
use proto::{decision::DecisionKind, id::Pool, subject::Subjects};
use tokio::time::Instant;

use super::*;

fn broker() -> Broker {
    memory::start(Subjects::new("cb", 2).unwrap(), MemoryOptions::default())
}

fn status(name: &str, shutdown: &CancellationToken) -> Status {
    let clock = ManualClock::new(jiff::Timestamp::UNIX_EPOCH);
    let roles = vec!["supervisor".to_owned(), "tools".to_owned()];
    Status::new(WorkerId::new(name).unwrap(), roles, "1.2.3", &clock, shutdown.clone())
}

async fn beacon(broker: &Broker, status: &Status) -> ActorRef<()> {
    Actor::spawn(None, Beacon, (broker.clone(), status.clone())).await.unwrap().0
}

fn names(crew: &BTreeMap<WorkerId, Presence>) -> Vec<&str> {
    crew.keys().map(WorkerId::as_str).collect()
}

#[tokio::test(start_paused = true)]
async fn who_speaks_is_there_and_who_is_silent_is_gone_after_three_seconds() {
    let (broker, token) = (broker(), CancellationToken::new());
    let crew = Crew::open(&broker);
    let mut changes = crew.watch();
    let (a, b) = (status("a", &token), status("b", &token));
    let one = beacon(&broker, &a).await;
    beacon(&broker, &b).await;
    crew.settled().await;
    assert_eq!(names(&crew.members()), ["a", "b"]);
    assert!(crew.has(a.worker()));
    one.kill();
    let killed = Instant::now();
    changes.wait_for(|crew| names(crew) == ["b"]).await.unwrap();
    let silent = killed.elapsed();
    assert!((2000..=4000).contains(&silent.as_millis()), "{silent:?}");
}

#[tokio::test(start_paused = true)]
async fn a_change_of_shards_or_draining_is_told_and_load_is_only_shown() {
    let (broker, token) = (broker(), CancellationToken::new());
    let crew = Crew::open(&broker);
    let status = status("a", &token);
    let gauge = Gauge::new(DecisionKind::Call, &Pool::new("builtin").unwrap(), 8);
    status.show(gauge.clone());
    beacon(&broker, &status).await;
    let mut changes = crew.watch();
    changes.wait_for(|crew| crew.len() == 1).await.unwrap();
    changes.mark_unchanged();
    let _busy = gauge.count();
    tokio::time::sleep(EVERY * 2).await;
    let load = crew.members()[status.worker()].pools[0].clone();
    assert_eq!((load.pool.as_str(), load.in_flight, load.capacity), ("call.builtin", 1, 8));
    assert!(!changes.has_changed().unwrap());
    status.set_shard(Shard(1), true);
    changes.changed().await.unwrap();
    assert_eq!(crew.members()[status.worker()].shards, [Shard(1)]);
    token.cancel();
    changes.changed().await.unwrap();
    assert!(crew.members()[status.worker()].draining);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_passed_over() {
    let (broker, token) = (broker(), CancellationToken::new());
    let crew = Crew::open(&broker);
    tokio::task::yield_now().await;
    for payload in [&b""[..], b"\x09", b"\x01\xfd\xff\xff\xff\xff\xff\xff\xff\xff"] {
        let subject = "cb.crew.tools.x".to_owned();
        broker.bus.publish(subject, Bytes::copy_from_slice(payload)).await.unwrap();
    }
    beacon(&broker, &status("a", &token)).await;
    crew.settled().await;
    assert_eq!(names(&crew.members()), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn who_leaves_says_so_at_once() {
    let (broker, token) = (broker(), CancellationToken::new());
    let crew = Crew::open(&broker);
    let leaving = status("a", &token);
    leaving.set_shard(Shard(1), true);
    let one = beacon(&broker, &leaving).await;
    let mut changes = crew.watch();
    changes.wait_for(|crew| crew.len() == 1).await.unwrap();
    tokio::time::sleep(EVERY / 4).await;
    let left = Instant::now();
    one.stop(None);
    let gone = |crew: &Arc<BTreeMap<WorkerId, Presence>>| {
        let said = &crew[leaving.worker()];
        said.draining && said.shards.is_empty()
    };
    changes.wait_for(gone).await.unwrap();
    assert!(left.elapsed() < EVERY / 4, "{:?}", left.elapsed());
}

/// Sends the presence message of a worker in another language.
async fn say(broker: &Broker, subject: &str, draining: bool) {
    let message = serde_json::json!({
        "v": 1, "pools": [{"pool": "call.python", "capacity": 4}], "draining": draining,
    });
    broker.bus.publish(subject.to_owned(), message.to_string().into()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_worker_in_another_language_is_live_until_it_is_silent_for_less_than_ten_seconds() {
    let broker = broker();
    let crew = Crew::open(&broker);
    let mut changes = crew.watch();
    tokio::task::yield_now().await;
    say(&broker, "cb.crew.worker.python-1", false).await;
    changes.wait_for(|crew| names(crew) == ["python-1"]).await.unwrap();
    let member = crew.members()[&WorkerId::new("python-1").unwrap()].clone();
    assert_eq!((member.pools[0].pool.as_str(), member.pools[0].capacity), ("call.python", 4));
    say(&broker, "cb.crew.worker.python-1", true).await;
    changes.wait_for(|crew| crew.values().all(|member| member.draining)).await.unwrap();
    let goodbye = Instant::now();
    changes.wait_for(|crew| crew.is_empty()).await.unwrap();
    assert!(goodbye.elapsed() < Duration::from_secs(10), "{:?}", goodbye.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_worker_in_another_language_replaces_no_process_and_plays_no_role() {
    let (broker, token) = (broker(), CancellationToken::new());
    let crew = Crew::open(&broker);
    beacon(&broker, &status("a", &token)).await;
    crew.settled().await;
    for subject in ["cb.crew.worker.a", "cb.crew.tools.b", "cb.crew.supervisor.c", "cb.crew.worker"]
    {
        say(&broker, subject, true).await;
    }
    let impostor = wire::encode(&Presence {
        worker: WorkerId::new("a").unwrap(),
        ..status("d", &token).presence()
    });
    let impostor = Bytes::from(impostor.unwrap());
    broker.bus.publish("cb.crew.tools.d".to_owned(), impostor).await.unwrap();
    tokio::time::sleep(EVERY / 2).await;
    assert_eq!(names(&crew.members()), ["a"]);
    assert_eq!(crew.members()[&WorkerId::new("a").unwrap()], status("a", &token).presence());
}
