//! Tests of hosts that die, restart or shut down.

use std::time::Duration;

use broker::{
    bus::Direct,
    kv::{Bucket, session_key},
    testing::wait::{soon, until},
};
use futures::StreamExt;
use proto::{
    session::SessionPlace,
    wire::{
        self,
        host::{CarryAnswer, HostRequest},
    },
};

use super::{on_both_brokers, stage::*};
use crate::sessions::{AskError, SILENCE, Sessions};

on_both_brokers![
    a_dead_host_loses_its_sessions_and_another_opens_new_ones,
    a_host_that_dies_at_work_may_have_begun,
    a_host_that_restarted_under_its_name_does_not_know_the_session,
    a_shutdown_lets_work_end_and_closes_all_sessions,
    entries_of_dead_hosts_are_removed,
];

fn lost(may_have_begun: bool, why: &str) -> Result<String, AskError> {
    Err(AskError::Lost { may_have_begun, why: why.to_owned() })
}

async fn a_dead_host_loses_its_sessions_and_another_opens_new_ones(stage: &Stage) {
    let dead = stage.host("h1").await;
    let (asker, demo) = (stage.asker().await, job("demo"));
    assert_eq!(asked(&asker, ask(&demo, 1, "a")).await.as_deref(), Ok("a"));
    dead.kill().await;
    let _other = stage.host("h2").await;
    assert_eq!(asked(&asker, ask(&demo, 2, "b")).await, lost(false, "its host is gone"));
    assert_eq!(asked(&asker, ask(&demo, 2, "b")).await.as_deref(), Ok("b"));
    assert_eq!(stage.entry(&demo).await.as_deref(), Some("h2"));
}

async fn a_host_that_dies_at_work_may_have_begun(stage: &Stage) {
    let (_silent, asker, demo) = (silent_host(stage, true).await, stage.asker().await, job("demo"));
    let silence = lost(true, "its host does not answer");
    assert_eq!(asked(&asker, ask(&demo, 1, "a")).await, silence);
    assert_eq!(stage.entry(&demo).await, None);
}

/// Enters a host `h1` that never completes a request. It acknowledges requests if it `begins`.
async fn silent_host(stage: &Stage, begins: bool) -> tokio::task::JoinHandle<()> {
    let broker = stage.broker().await;
    let subject = broker.log.subjects().host(KIND, &worker("h1"));
    let mut requests = broker.bus.listen(subject).await.unwrap();
    let place = serde_json::to_vec(&SessionPlace { host: worker("h1") }).unwrap();
    let key = session_key(KIND, &job("demo"));
    broker.kv.update(Bucket::Sessions, &key, place.into(), 0).await.unwrap();
    tokio::spawn(async move {
        while let Some(Direct { payload, answer }) = requests.next().await {
            assert!(matches!(wire::decode(&payload), Ok(HostRequest::Carry(_))));
            if begins {
                answer.send(wire::encode(&CarryAnswer::Begun).unwrap().into()).await.unwrap();
            }
        }
    })
}

/// The acknowledgement may be lost, so silence proves nothing.
#[tokio::test(start_paused = true)]
async fn a_host_that_never_answers_may_have_begun() {
    let stage = Stage::in_memory();
    let (_silent, asker) = (silent_host(&stage, false).await, stage.asker().await);
    let silence = lost(true, "its host does not answer");
    assert_eq!(asked(&asker, ask(&job("demo"), 1, "a")).await, silence);
}

async fn a_host_that_restarted_under_its_name_does_not_know_the_session(stage: &Stage) {
    let (asker, demo, broker) = (stage.asker().await, job("demo"), stage.broker().await);
    let mut host = stage.host("h1").await;
    assert_eq!(asked(&asker, ask(&demo, 1, "a")).await.as_deref(), Ok("a"));
    let key = session_key(KIND, &demo);
    let entry = broker.kv.get(Bucket::Sessions, &key).await.unwrap().unwrap();
    asker.close(KIND, &demo).await.unwrap();
    host.done();
    // The host has forgotten the session and has not yet swept the entry.
    broker.kv.update(Bucket::Sessions, &key, entry.value, 0).await.unwrap();
    let unknown = lost(false, "its host does not have it");
    assert_eq!(asked(&asker, ask(&demo, 2, "b")).await, unknown);
    assert_eq!(asked(&asker, ask(&demo, 2, "b")).await.as_deref(), Ok("b"));
    let began = Done::Began(demo.clone(), "b".to_owned());
    assert_eq!(host.done(), [Done::Opened(demo), began]);
}

async fn a_shutdown_lets_work_end_and_closes_all_sessions(stage: &Stage) {
    let mut host = stage.host("h1").await;
    let (asker, busy, quiet) = (stage.asker().await, job("busy"), job("quiet"));
    assert_eq!(asked(&asker, ask(&quiet, 1, "a")).await.as_deref(), Ok("a"));
    let waits = asking(&asker, ask(&busy, 1, "wait"));
    until("the work", async || host.done().contains(&Done::Began(busy.clone(), "wait".to_owned())))
        .await;
    host.begin_shutdown();
    host.keeper.go.notify_one();
    assert_eq!(waits.await.unwrap().as_deref(), Ok("wait"));
    host.shut_down().await;
    let done = host.done();
    assert_eq!(done.len(), 2, "{done:?}");
    for one in [&busy, &quiet] {
        assert!(done.contains(&Done::Closed(one.clone())));
        assert_eq!(stage.entry(one).await, None);
    }
    assert_eq!(asked(&asker, ask(&busy, 2, "a")).await, Err(AskError::NoHost));
}

async fn entries_of_dead_hosts_are_removed(stage: &Stage) {
    let (asker, demo, own) = (stage.asker().await, job("demo"), job("own"));
    let dead = stage.host("h1").await;
    assert_eq!(asked(&asker, ask(&demo, 1, "a")).await.as_deref(), Ok("a"));
    dead.kill().await;
    let second = stage.host("h2").await;
    until("the entry of h1 is gone", async || stage.entry(&demo).await.is_none()).await;
    assert_eq!(asked(&asker, ask(&own, 1, "a")).await.as_deref(), Ok("a"));
    second.kill().await;
    let _again = stage.host("h2").await;
    until("the entry of the earlier h2 is gone", async || stage.entry(&own).await.is_none()).await;
}

/// A host that was cut off still has a session whose entry an asker has removed.
#[tokio::test(start_paused = true)]
async fn a_host_that_was_cut_off_closes_the_old_session_before_it_opens_a_new_one() {
    let stage = Stage::in_memory();
    let mut host = stage.host("h1").await;
    let (asker, demo, broker) = (stage.asker().await, job("demo"), stage.broker().await);
    let waits = asking(&asker, ask(&demo, 1, "wait"));
    assert_eq!(host.next().await, Done::Opened(demo.clone()));
    assert_eq!(host.next().await, Done::Began(demo.clone(), "wait".to_owned()));
    broker.kv.delete(Bucket::Sessions, &session_key(KIND, &demo)).await.unwrap();
    let other: Sessions = stage.asker().await;
    assert_eq!(asked(&other, ask(&demo, 2, "a")).await.as_deref(), Ok("a"));
    let (canceled, closed) = (Done::Canceled(demo.clone()), Done::Closed(demo.clone()));
    let began = Done::Began(demo.clone(), "a".to_owned());
    assert_eq!(host.done(), [canceled, closed, Done::Opened(demo), began]);
    assert_eq!(soon("the end", waits).await.unwrap(), Err(AskError::Canceled));
}

/// An asker that takes a host for dead waits for a few seconds only.
#[test]
fn a_dead_host_is_noticed_within_a_few_seconds() {
    assert!(SILENCE <= Duration::from_secs(5));
}
