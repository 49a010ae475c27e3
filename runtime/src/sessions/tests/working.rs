//! Tests of requests to an open session.

use std::time::Duration;

use broker::{
    bus::{BusError, Message, RequestContext},
    kv::{Bucket, session_key},
    testing::wait::{PATIENCE, soon},
};
use bytes::Bytes;
use futures::{StreamExt, stream::BoxStream};
use proto::{
    id::JobId,
    limits::SESSION_BODY_BYTES_MAX,
    session::SessionId,
    wire::{
        self,
        host::{Carry, CarryAnswer, HostRequest},
    },
};
use tokio_util::sync::CancellationToken;

use super::{on_both_brokers, stage::*};
use crate::sessions::{Ask, AskError, HostLimits};

on_both_brokers![
    an_attempt_that_runs_is_not_carried_out_twice,
    a_cancellation_reaches_the_keeper,
    a_host_without_capacity_is_asked_again,
    a_host_without_capacity_begins_nothing,
    a_refusal_leaves_the_session_open,
    a_panic_of_the_keeper_is_a_refusal,
    bodies_have_a_bound_in_both_directions,
    a_crash_of_the_session_loses_it,
    the_time_of_a_request_ends_the_work,
];

async fn an_attempt_that_runs_is_not_carried_out_twice(stage: &Stage) {
    let mut host = stage.host("h1").await;
    let (asker, demo) = (stage.asker().await, job("demo"));
    let first = asking(&asker, ask(&demo, 1, "wait"));
    assert_eq!(host.next().await, Done::Opened(demo.clone()));
    assert_eq!(host.next().await, Done::Began(demo.clone(), "wait".to_owned()));
    // The command is delivered to another worker too.
    let mut second = repeated(stage, &demo).await;
    while answer(&mut second).await != CarryAnswer::Begun {}
    host.keeper.go.notify_one();
    assert_eq!(first.await.unwrap().as_deref(), Ok("wait"));
    let last = loop {
        let answer = answer(&mut second).await;
        if answer != CarryAnswer::Working {
            break answer;
        }
    };
    assert_eq!(last, CarryAnswer::Done { body: b"wait".to_vec() });
    assert!(host.done().is_empty(), "the work began twice");
}

/// Sends the request of the first unit of work to the session's host, once more.
async fn repeated(stage: &Stage, of: &JobId) -> Answers {
    let broker = stage.broker().await;
    let entry = broker.kv.get(Bucket::Sessions, &session_key(KIND, of)).await.unwrap().unwrap();
    let Ask { job, unit, body, within, .. } = ask(of, 1, "wait");
    let request = HostRequest::Carry(Carry {
        job,
        session: SessionId(entry.revision),
        work: unit.work,
        attempt: unit.attempt,
        within_ms: u64::try_from(within.as_millis()).unwrap(),
        body: body.to_vec(),
    });
    let subject = broker.log.subjects().host(KIND, &worker("h1"));
    let payload = wire::encode(&request).unwrap().into();
    let context = RequestContext::default();
    broker.bus.request_many(subject, payload, context, PATIENCE).await.unwrap()
}

type Answers = BoxStream<'static, Result<Message, BusError>>;

async fn answer(answers: &mut Answers) -> CarryAnswer {
    let answer = soon("an answer", answers.next()).await.unwrap().unwrap();
    wire::decode(&answer.payload).unwrap()
}

async fn a_cancellation_reaches_the_keeper(stage: &Stage) {
    let mut host = stage.host("h1").await;
    let (asker, demo, canceled) = (stage.asker().await, job("demo"), CancellationToken::new());
    let (same, token, request) = (asker.clone(), canceled.clone(), ask(&demo, 1, "wait"));
    let waits = tokio::spawn(async move { same.ask(request, &token).await });
    assert_eq!(host.next().await, Done::Opened(demo.clone()));
    assert_eq!(host.next().await, Done::Began(demo.clone(), "wait".to_owned()));
    canceled.cancel();
    assert_eq!(host.next().await, Done::Canceled(demo.clone()));
    assert_eq!(soon("the cancellation", waits).await.unwrap(), Err(AskError::Canceled));
    assert_eq!(asked(&asker, ask(&demo, 2, "a")).await.as_deref(), Ok("a"));
}

async fn a_host_without_capacity_is_asked_again(stage: &Stage) {
    let mut host = stage.host_with("h1", HostLimits { in_flight: 1, ..limits() }).await;
    let (asker, demo) = (stage.asker().await, job("demo"));
    let first = asking(&asker, ask(&demo, 1, "wait"));
    assert_eq!(host.next().await, Done::Opened(demo.clone()));
    assert_eq!(host.next().await, Done::Began(demo.clone(), "wait".to_owned()));
    let second = asking(&asker, ask(&demo, 2, "a"));
    host.keeper.go.notify_one();
    assert_eq!(first.await.unwrap().as_deref(), Ok("wait"));
    assert_eq!(second.await.unwrap().as_deref(), Ok("a"));
}

async fn a_host_without_capacity_begins_nothing(stage: &Stage) {
    let mut host = stage.host_with("h1", HostLimits { in_flight: 1, ..limits() }).await;
    let (asker, demo) = (stage.asker().await, job("demo"));
    let first = asking(&asker, ask(&demo, 1, "wait"));
    assert_eq!(host.next().await, Done::Opened(demo.clone()));
    assert_eq!(host.next().await, Done::Began(demo.clone(), "wait".to_owned()));
    let mut second = ask(&demo, 2, "a");
    second.within = Duration::from_millis(200);
    let refused = asked(&asker, second).await.unwrap_err();
    assert!(matches!(refused, AskError::Refused(_)) && !refused.is_unknown(), "{refused}");
    host.keeper.go.notify_one();
    assert_eq!(first.await.unwrap().as_deref(), Ok("wait"));
    assert!(host.done().is_empty());
}

async fn a_refusal_leaves_the_session_open(stage: &Stage) {
    let mut host = stage.host("h1").await;
    let (asker, demo) = (stage.asker().await, job("demo"));
    let refused = asked(&asker, ask(&demo, 1, "refuse")).await;
    assert_eq!(refused, Err(AskError::Refused("no such button".to_owned())));
    assert_eq!(asked(&asker, ask(&demo, 2, "a")).await.as_deref(), Ok("a"));
    assert_eq!(host.done().len(), 3, "one session and two requests");
}

async fn a_panic_of_the_keeper_is_a_refusal(stage: &Stage) {
    let _host = stage.host("h1").await;
    let (asker, demo) = (stage.asker().await, job("demo"));
    let refused = asked(&asker, ask(&demo, 1, "panic")).await.unwrap_err();
    assert!(matches!(&refused, AskError::Refused(why) if why.contains("panicked")), "{refused}");
    assert_eq!(asked(&asker, ask(&demo, 2, "a")).await.as_deref(), Ok("a"));
}

async fn bodies_have_a_bound_in_both_directions(stage: &Stage) {
    let mut host = stage.host("h1").await;
    let (asker, demo) = (stage.asker().await, job("demo"));
    let largest = "x".repeat(SESSION_BODY_BYTES_MAX);
    assert_eq!(asked(&asker, ask(&demo, 1, &largest)).await.as_deref(), Ok(largest.as_str()));
    let mut larger = ask(&demo, 2, "");
    larger.body = Bytes::from(vec![b'x'; SESSION_BODY_BYTES_MAX + 1]);
    for request in [larger, ask(&demo, 3, "large")] {
        let refused = asked(&asker, request).await.unwrap_err();
        assert!(
            matches!(&refused, AskError::Refused(why) if why.contains("at most 196608")),
            "{refused}"
        );
    }
    assert_eq!(host.done().len(), 3, "one session, the largest request, the largest result");
}

async fn a_crash_of_the_session_loses_it(stage: &Stage) {
    let mut host = stage.host("h1").await;
    let (asker, demo) = (stage.asker().await, job("demo"));
    let lost = asked(&asker, ask(&demo, 1, "crash")).await;
    let why = "the browser crashed".to_owned();
    assert_eq!(lost, Err(AskError::Lost { may_have_begun: true, why }));
    assert_eq!(asked(&asker, ask(&demo, 2, "a")).await.as_deref(), Ok("a"));
    let done = host.done();
    assert_eq!(done[2..4], [Done::Closed(demo.clone()), Done::Opened(demo)], "{done:?}");
}

async fn the_time_of_a_request_ends_the_work(stage: &Stage) {
    let mut host = stage.host("h1").await;
    let (asker, demo) = (stage.asker().await, job("demo"));
    for (n, body) in [(1, "wait"), (2, "deaf")] {
        let mut request = ask(&demo, n, body);
        request.within = Duration::from_millis(500);
        assert_eq!(asked(&asker, request).await, Err(AskError::Late), "{body}");
    }
    assert!(host.done().contains(&Done::Canceled(demo.clone())));
    assert_eq!(asked(&asker, ask(&demo, 3, "a")).await.as_deref(), Ok("a"));
}

/// An operator may set a lower bound than that of a body.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_with_a_lower_bound_refuses_in_words() {
    let stage = Stage::on_nats_with(&["max_payload: 32KB"]).await;
    let _host = stage.host("h1").await;
    let (asker, demo) = (stage.asker().await, job("demo"));
    let long = "y".repeat(40_000);
    for (n, body) in [(1, long.as_str()), (2, "half")] {
        let refused = asked(&asker, ask(&demo, n, body)).await.unwrap_err();
        assert!(
            matches!(&refused, AskError::Refused(why) if why.contains("the broker takes no")),
            "{refused}"
        );
    }
    assert_eq!(asked(&asker, ask(&demo, 3, "a")).await.as_deref(), Ok("a"));
}

/// A page may load for longer than an asker waits for a silent host.
#[tokio::test(start_paused = true)]
async fn work_may_last_longer_than_any_silence() {
    let stage = Stage::in_memory();
    let mut host = stage.host("h1").await;
    let (asker, demo) = (stage.asker().await, job("demo"));
    let waits = asking(&asker, ask(&demo, 1, "wait"));
    assert_eq!(host.next().await, Done::Opened(demo.clone()));
    assert_eq!(host.next().await, Done::Began(demo, "wait".to_owned()));
    tokio::time::sleep(Duration::from_secs(200)).await;
    host.keeper.go.notify_one();
    assert_eq!(waits.await.unwrap().as_deref(), Ok("wait"));
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_is_closed() {
    let stage = Stage::in_memory();
    let idle = Duration::from_secs(100);
    let mut host = stage.host_with("h1", HostLimits { idle, ..limits() }).await;
    let (asker, demo, busy) = (stage.asker().await, job("demo"), job("busy"));
    let waits = asking(&asker, ask(&busy, 1, "wait"));
    assert_eq!(host.next().await, Done::Opened(busy.clone()));
    assert_eq!(host.next().await, Done::Began(busy.clone(), "wait".to_owned()));
    assert_eq!(asked(&asker, ask(&demo, 1, "a")).await.as_deref(), Ok("a"));
    host.done();
    tokio::time::sleep(idle * 2).await;
    assert_eq!(host.done(), [Done::Closed(demo.clone())]);
    assert_eq!(stage.entry(&demo).await, None);
    host.keeper.go.notify_one();
    assert_eq!(waits.await.unwrap().as_deref(), Ok("wait"));
    assert_eq!(stage.entry(&busy).await.as_deref(), Some("h1"));
}
