//! Requests with one reply each.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use callboard_client::{Client, RetryPolicy};
use futures::StreamExt;
use proto::{
    door::{Inbox, Submit, Verb},
    error::{Code, Failure},
    id::{JobId, WorkerId},
    trace::TraceContext,
};
use serde_json::{Value, json};

use crate::scripted::{Act, Stage, memory};

fn submitted() -> Value {
    json!({"job": "j", "shard": 1, "seq": 7, "created": false})
}

#[tokio::test(start_paused = true)]
async fn a_submission_whose_answer_is_lost_is_sent_again_with_the_id_it_had() {
    let stage = Stage::with([Act::Lose, Act::Lose, Act::Answer(submitted())]).await;
    let answer = stage.client.submit(Submit::goal("g")).await.unwrap();
    assert_eq!((answer.seq.0, answer.created), (7, false));
    let seen = stage.seen();
    assert_eq!(seen.len(), 3);
    let id = seen[0].body["id"].as_str().unwrap();
    assert!(JobId::new(id).is_ok());
    assert!(seen.iter().all(|seen| seen.verb == Verb::Submit && seen.body["id"] == id));
}

#[tokio::test(start_paused = true)]
async fn a_door_that_stays_silent_is_a_timeout() {
    let stage = Stage::with([]).await;
    let failure = stage.client.submit(Submit::goal("g")).await.unwrap_err();
    assert_eq!((failure.code, stage.seen().len()), (Code::Timeout, 3));
}

#[tokio::test]
async fn a_refusal_is_an_error_with_everything_in_it() {
    let refusal = Failure::new(Code::InvalidRequest, "limit: must be 1 to 1000").at("limit");
    let stage = Stage::with([Act::Refuse(refusal.clone())]).await;
    assert_eq!(stage.client.call(&Inbox::default()).await, Err(refusal));
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_an_error_and_no_panic() {
    let stage = Stage::with([Act::Answer(json!({"jobs": "many"})), Act::Answer(json!(7))]).await;
    for _ in 0..2 {
        let failure = stage.client.crew().await.unwrap_err();
        assert_eq!(failure.code, Code::Internal);
        assert!(failure.hint.contains("same version"), "{}", failure.hint);
    }
}

#[tokio::test]
async fn when_nobody_serves_the_next_thing_to_do_is_said() {
    let client = Client::new(&memory().connect(WorkerId::new("test").unwrap()));
    let failure = client.tools().await.unwrap_err();
    assert_eq!(failure.code, Code::Unavailable);
    assert!(failure.hint.contains("callboard serve --roles"), "{}", failure.hint);
}

#[tokio::test(start_paused = true)]
async fn a_door_that_is_served_later_is_asked_again_and_that_is_said_once() {
    let memory = memory();
    let said = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&said);
    let retries = RetryPolicy::new(move |verb, total| hears.lock().unwrap().push((verb, total)));
    let client = Client::new(&memory.connect(WorkerId::new("test").unwrap()))
        .with_timeout(Duration::from_secs(5))
        .with_retries(Some(retries));
    let began = tokio::time::Instant::now();
    let failure = client.tools().await.unwrap_err();
    assert_eq!(failure.code, Code::Unavailable);
    assert!(failure.hint.contains("callboard serve --roles"), "{}", failure.hint);
    assert_eq!(began.elapsed(), Duration::from_secs(5));

    let late = memory.connect(WorkerId::new("late").unwrap());
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(3)).await;
        let mut requests = late.bus.serve(vec![Verb::Tools]).await.unwrap();
        while let Some(request) = requests.next().await {
            request.reply.send(json!({"tools": []}).to_string().into()).await.unwrap();
        }
    });
    assert!(client.tools().await.unwrap().tools.is_empty());
    let said = said.lock().unwrap();
    assert_eq!(*said, [(Verb::Tools, Duration::from_secs(5))]);
}

#[tokio::test]
async fn the_token_and_the_trace_travel_beside_the_body_and_the_token_is_not_shown() {
    let trace = TraceContext::new(42, 7, true);
    let acts = [Act::Answer(json!({"tools": []})), Act::Answer(json!({"tools": []}))];
    let stage = Stage::with(acts).await;
    let client = stage.client.clone().with_token(Some("s3cret".into())).with_trace(trace);
    client.tools().await.unwrap();
    stage.client.tools().await.unwrap();
    let seen = stage.seen();
    assert_eq!((seen[0].token.as_deref(), seen[0].trace), (Some("s3cret"), 42));
    assert_eq!(seen[1].token, None);
    assert_ne!(seen[1].trace, 42);
    assert!(!format!("{client:?}").contains("s3cret"));
}
