//! Tests of the opening of sessions, and of races for them.

use std::collections::BTreeSet;

use futures::future::join_all;
use proto::session::SessionId;

use super::{on_both_brokers, stage::*};
use crate::sessions::{AskError, HostLimits, OpenError};

on_both_brokers![
    a_session_is_opened_once_and_found_by_every_asker,
    without_a_host_nothing_begins,
    a_full_host_leaves_the_session_to_another,
    a_host_that_cannot_open_leaves_the_session_to_another,
    the_reason_why_no_host_opens_is_told,
    a_closed_session_makes_room,
    an_entry_that_cannot_be_read_is_replaced,
];

async fn a_session_is_opened_once_and_found_by_every_asker(stage: &Stage) {
    let mut host = stage.host("h1").await;
    let (one, two, demo) = (stage.asker().await, stage.asker().await, job("demo"));
    assert_eq!(asked(&one, ask(&demo, 1, "a")).await.as_deref(), Ok("a"));
    assert_eq!(asked(&two, ask(&demo, 2, "b")).await.as_deref(), Ok("b"));
    let began = |body: &str| Done::Began(job("demo"), body.to_owned());
    assert_eq!(host.done(), [Done::Opened(demo.clone()), began("a"), began("b")]);
    assert_eq!(stage.entry(&demo).await.as_deref(), Some("h1"));
}

async fn without_a_host_nothing_begins(stage: &Stage) {
    let asker = stage.asker().await;
    assert_eq!(asked(&asker, ask(&job("demo"), 1, "a")).await, Err(AskError::NoHost));
    assert_eq!(stage.entry(&job("demo")).await, None);
}

async fn a_full_host_leaves_the_session_to_another(stage: &Stage) {
    let one_session = HostLimits { sessions: 1, ..limits() };
    let mut hosts =
        [stage.host_with("h1", one_session).await, stage.host_with("h2", one_session).await];
    let asker = stage.asker().await;
    for name in ["a", "b"] {
        assert_eq!(asked(&asker, ask(&job(name), 1, name)).await.as_deref(), Ok(name));
    }
    for host in &mut hosts {
        assert_eq!(host.done().len(), 2, "one session and one request");
    }
    assert_eq!(asked(&asker, ask(&job("c"), 1, "c")).await, Err(AskError::NoHost));
    assert_eq!(stage.entry(&job("c")).await, None);
}

async fn a_host_that_cannot_open_leaves_the_session_to_another(stage: &Stage) {
    let broken = stage.host("h1").await;
    *broken.keeper.fails.lock().unwrap() = Some(OpenError::Failed("no browser".to_owned()));
    let full = stage.host("h2").await;
    *full.keeper.fails.lock().unwrap() = Some(OpenError::Full);
    let _sound = stage.host("h3").await;
    let asker = stage.asker().await;
    for n in 0..2 {
        let demo = job(&format!("demo-{n}"));
        assert_eq!(asked(&asker, ask(&demo, 1, "a")).await.as_deref(), Ok("a"));
        assert_eq!(stage.entry(&demo).await.as_deref(), Some("h3"));
    }
}

async fn the_reason_why_no_host_opens_is_told(stage: &Stage) {
    let host = stage.host("h1").await;
    *host.keeper.fails.lock().unwrap() = Some(OpenError::Failed("no browser".to_owned()));
    let (asker, demo) = (stage.asker().await, job("demo"));
    let refused = asked(&asker, ask(&demo, 1, "a")).await;
    assert_eq!(refused, Err(AskError::Refused("no browser".to_owned())));
    assert_eq!(stage.entry(&demo).await, None);
    // The failure leaves no session behind.
    *host.keeper.fails.lock().unwrap() = None;
    assert_eq!(asked(&asker, ask(&demo, 1, "a")).await.as_deref(), Ok("a"));
}

async fn a_closed_session_makes_room(stage: &Stage) {
    let mut host = stage.host_with("h1", HostLimits { sessions: 1, ..limits() }).await;
    let asker = stage.asker().await;
    assert_eq!(asked(&asker, ask(&job("a"), 1, "a")).await.as_deref(), Ok("a"));
    asker.close(KIND, &job("a")).await.unwrap();
    assert_eq!(host.done().last(), Some(&Done::Closed(job("a"))));
    assert_eq!(stage.entry(&job("a")).await, None);
    assert_eq!(asked(&asker, ask(&job("b"), 1, "b")).await.as_deref(), Ok("b"));
}

async fn an_entry_that_cannot_be_read_is_replaced(stage: &Stage) {
    let _host = stage.host("h1").await;
    let (demo, broker) = (job("demo"), stage.broker().await);
    let key = broker::kv::session_key(KIND, &demo);
    broker.kv.put(broker::kv::Bucket::Sessions, &key, "?".into()).await.unwrap();
    let asker = stage.asker().await;
    assert_eq!(asked(&asker, ask(&demo, 1, "a")).await.as_deref(), Ok("a"));
    assert_eq!(stage.entry(&demo).await.as_deref(), Some("h1"));
}

/// Lets askers race for the session of one job, many times and in other orders each time: the
/// broker in memory gives way at every request, and delivers messages in a random order.
#[tokio::test(start_paused = true)]
async fn of_racing_askers_and_hosts_one_opens_the_session_and_all_use_it() {
    let stage = Stage::in_memory();
    let room = HostLimits { sessions: 1_000, in_flight: 100, ..limits() };
    let mut hosts = [
        stage.host_with("h1", room).await,
        stage.host_with("h2", room).await,
        stage.host_with("h3", room).await,
    ];
    let asker = stage.asker().await;
    for round in 0..200 {
        let raced = job(&format!("race-{round}"));
        let asks = (0..5).map(|n| asked(&asker, ask(&raced, n, "a")));
        for answer in join_all(asks).await {
            assert_eq!(answer.as_deref(), Ok("a"), "round {round}");
        }
        let owner = stage.entry(&raced).await.unwrap();
        for (host, name) in hosts.iter_mut().zip(["h1", "h2", "h3"]) {
            let done = host.done();
            match name == owner {
                true => {
                    assert_eq!(done.len(), 6, "round {round}");
                    assert_eq!(done[0], Done::Opened(raced.clone()));
                }
                false => assert!(done.is_empty(), "round {round}: {done:?}"),
            }
        }
    }
}

/// The id of a session is a revision of the bucket, which no two entries share.
#[tokio::test(start_paused = true)]
async fn no_two_sessions_have_the_same_id() {
    let stage = Stage::in_memory();
    let _host = stage.host("h1").await;
    let (asker, broker, demo) = (stage.asker().await, stage.broker().await, job("demo"));
    let mut seen = BTreeSet::new();
    for n in 0..3 {
        asked(&asker, ask(&demo, n, "a")).await.unwrap();
        let key = broker::kv::session_key(KIND, &demo);
        let entry = broker.kv.get(broker::kv::Bucket::Sessions, &key).await.unwrap().unwrap();
        assert!(seen.insert(SessionId(entry.revision).0));
        asker.close(KIND, &demo).await.unwrap();
    }
}
