//! Watches survive broken connections.

use callboard_client::WatchOptions;
use futures::StreamExt;
use proto::{
    door::Watched,
    error::{Code, Failure},
    id::{JobId, Seq},
};
use serde_json::{Value, json};

use crate::scripted::{Act, Stage};

fn record(seq: u64) -> Value {
    json!({"type": "record", "seq": seq, "family": "in.crew", "time": "2026-03-01T09:00:00Z", "record": {}})
}

fn end(code: Option<Code>) -> Value {
    match code {
        None => json!({"type": "end"}),
        Some(code) => json!({"type": "end", "error": Failure::new(code, "why")}),
    }
}

/// Watches a job, and returns the positions of its records and the end of the watch.
async fn watch(stage: &Stage, after: u64) -> (Vec<u64>, Result<(), Code>) {
    let options = WatchOptions::records(Seq(after));
    let mut items = Box::pin(stage.client.watch(&JobId::new("j").unwrap(), options));
    let mut records = Vec::new();
    while let Some(item) = items.next().await {
        match item {
            Ok(Watched::Record { seq, .. }) => records.push(seq.0),
            Ok(Watched::End { error: None }) => {
                assert!(items.next().await.is_none(), "nothing comes after the end");
                return (records, Ok(()));
            }
            Ok(Watched::View { .. } | Watched::Live { .. } | Watched::Event { .. }) => {}
            Ok(other @ (Watched::Heartbeat | Watched::End { .. })) => {
                panic!("passed on: {other:?}")
            }
            Err(failure) => {
                assert!(items.next().await.is_none(), "nothing comes after an error");
                return (records, Err(failure.code));
            }
        }
    }
    panic!("it ended without an end");
}

fn asked_after(stage: &Stage) -> Vec<u64> {
    stage.seen().iter().map(|seen| seen.body["after"].as_u64().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_is_taken_up_where_it_was() {
    let stage = Stage::with([
        Act::Stream(vec![record(1), record(2), end(Some(Code::Unavailable))]),
        Act::Stream(vec![record(3)]),
        Act::Refuse(Failure::new(Code::Overloaded, "too many")),
        Act::Lose,
        Act::Stream(vec![json!({"type": "heartbeat"}), record(3), record(5), end(None)]),
    ])
    .await;
    let (records, ended) = watch(&stage, 0).await;
    // The third record arrives twice and is yielded once.
    assert_eq!((records, ended), (vec![1, 2, 3, 5], Ok(())));
    assert_eq!(asked_after(&stage), [0, 2, 3, 3, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_does_not_pass_ends_the_watch() {
    for code in [Code::NotFound, Code::Forbidden, Code::Poisoned, Code::Internal] {
        let stage = Stage::with([Act::Stream(vec![record(8), end(Some(code))])]).await;
        assert_eq!(watch(&stage, 7).await, (vec![8], Err(code)));
        assert_eq!(asked_after(&stage), [7]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_door_that_is_gone_for_good_ends_the_watch_after_a_while() {
    let stage = Stage::with([Act::Stream(vec![record(1)])]).await;
    assert_eq!(watch(&stage, 0).await, (vec![1], Err(Code::Timeout)));
    assert!(stage.seen().len() >= 2);
}

fn event(id: &str) -> Value {
    let happened =
        json!({"id": id, "time": "2026-03-01T09:00:00Z", "type": "job", "state": "working"});
    json!({"type": "event", "event": happened})
}

#[tokio::test(start_paused = true)]
async fn events_are_taken_up_after_the_last_one_and_come_once() {
    let stage = Stage::with([
        Act::Stream(vec![event("7.1"), event("7.2"), end(Some(Code::Unavailable))]),
        Act::Lose,
        Act::Stream(vec![event("7.2"), event("7.3"), event("9.1"), end(None)]),
    ])
    .await;
    let options = WatchOptions::events("6.4".parse().unwrap());
    let items = stage.client.watch(&JobId::new("j").unwrap(), options);
    let ids: Vec<String> = items
        .filter_map(|item| async move {
            match item.unwrap() {
                Watched::Event { event } => Some(event.id.to_string()),
                Watched::Record { .. }
                | Watched::View { .. }
                | Watched::Live { .. }
                | Watched::Heartbeat
                | Watched::End { .. } => None,
            }
        })
        .collect()
        .await;
    assert_eq!(ids, ["7.1", "7.2", "7.3", "9.1"]);
    let asked: Vec<_> = stage.seen().iter().map(|seen| seen.body["after_event"].clone()).collect();
    assert_eq!(asked, ["6.4", "7.2", "7.2"]);
}
