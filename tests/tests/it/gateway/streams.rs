//! Tests of streams of events across crashes.

use broker::testing::wait::{eventually, soon};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{ASKED, Frame, Frames, Stage, is_end, taken};

/// Streams the events of a job and resumes after each kill, until the job has ended.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_misses_and_repeats_nothing_across_kills() {
    let mut stage = Stage::start().await;
    let goal = json!({"goal": "two echoes", "confirm": true, "id": "j1"});
    assert_eq!(stage.post("/v1/jobs", &goal).await.0, StatusCode::CREATED);
    let mut seen: Vec<Frame> = Vec::new();
    let mut asked = 0;
    loop {
        let last = seen.iter().rev().find(|frame| !frame.id.is_empty()).map(|f| f.id.clone());
        let mut request = stage.get("/v1/jobs/j1/events");
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        // The gateway that was killed is not back yet.
        let Ok(response) = request.send().await else { continue };
        let stops = |frame: &Frame| is_end(frame) || frame.data.contains(ASKED);
        let mut open = Frames::of(response);
        if !open.until(&mut seen, stops).await {
            continue;
        }
        if seen.last().is_some_and(is_end) {
            break;
        }
        asked += 1;
        // The first time the gateway dies under the open stream; the second time everything else
        // does, and the gateway carries the stream on.
        if asked == 1 {
            stage.gateway.restart(&stage.company);
            assert!(!open.until(&mut seen, |_| false).await);
        } else {
            stage.others.restart(&stage.company);
            stage.company.nats.kill9();
            stage.company.nats.restart().await;
        }
        let ask = stage.question("j1").await;
        let body =
            if asked == 1 { json!({"decision": "approve"}) } else { json!({"value": "Ann"}) };
        eventually("an answer", async || {
            let path = format!("/v1/jobs/j1/questions/{ask}/answers");
            let sent = stage.request(Method::POST, &path).json(&body).send().await;
            let (status, reply) = taken(sent.map_err(|e| e.to_string())?).await;
            // A repeated answer finds its first attempt.
            let is_taken = status.is_success() || reply["code"] == "already_answered";
            if is_taken { Ok(()) } else { Err(reply.to_string()) }
        })
        .await;
        if asked == 2 && open.until(&mut seen, is_end).await {
            break;
        }
    }
    assert_eq!(asked, 2);
    let ids: Vec<&String> = seen.iter().map(|f| &f.id).filter(|id| !id.is_empty()).collect();
    let mut whole = Vec::new();
    let response = stage.get("/v1/jobs/j1/events").send().await.unwrap();
    assert!(Frames::of(response).until(&mut whole, is_end).await);
    let whole: Vec<&String> = whole.iter().map(|f| &f.id).filter(|id| !id.is_empty()).collect();
    assert_eq!(ids, whole);
}

/// Reads frames of the feed until one of this name satisfies `last`.
async fn until(frames: &mut Frames, name: &str, last: impl Fn(&Value) -> bool) {
    let mut seen = Vec::new();
    let is_last =
        |frame: &Frame| frame.name == name && last(&serde_json::from_str(&frame.data).unwrap());
    assert!(soon("a frame", frames.until(&mut seen, is_last)).await, "{name}: {seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_tells_which_jobs_change_to_everybody_who_reads() {
    let stage = Stage::start().await;
    let about = stage.read("/v1/about").await;
    assert_eq!((&about["pulse"], &about["prefix"]), (&json!(true), &json!("cb")));
    let open = async || Frames::of(stage.get("/v1/feed").send().await.unwrap());
    let mut first = open().await;
    until(&mut first, "pulse", |pulse| pulse["complete"] == true).await;
    let goal = json!({"id": "j1", "goal": "two echoes", "confirm": true});
    let (status, reply) = stage.post("/v1/jobs", &goal).await;
    assert_eq!(status, StatusCode::CREATED, "{reply}");
    let names = |pulse: &Value| pulse["jobs"].as_array().unwrap().contains(&json!("j1"));
    until(&mut first, "pulse", names).await;
    let ask = stage.question("j1").await;
    until(&mut first, "inbox", |inbox| inbox["questions"] == 1).await;
    // A reader that comes later has the figures at once.
    let mut second = open().await;
    until(&mut second, "pulse", |pulse| pulse["open"]["input-required"] == 1).await;
    until(&mut second, "crew", |crew| crew["workers"].as_array().unwrap().len() >= 2).await;
    let (status, reply) = stage.answer("j1", &ask, &json!({"decision": "reject"})).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    for frames in [&mut first, &mut second] {
        until(frames, "inbox", |inbox| inbox["questions"] == 0).await;
    }
}

/// Returns the ids of all events of a job after one, as a reader gets them until the end.
async fn ids(mut frames: Frames) -> Vec<String> {
    let mut seen = Vec::new();
    assert!(soon("the end", frames.until(&mut seen, is_end)).await);
    seen.into_iter().map(|frame| frame.id).filter(|id| !id.is_empty()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_come_at_any_time_get_each_event_once() {
    let stage = Stage::start().await;
    let open = async |after: &str| {
        let request = stage.get("/v1/jobs/j1/events").header("last-event-id", after);
        Frames::of(request.send().await.unwrap())
    };
    let goal = json!({"id": "j1", "goal": "two echoes", "confirm": true});
    assert_eq!(stage.post("/v1/jobs", &goal).await.0, StatusCode::CREATED);
    let mut readers = vec![tokio::spawn(ids(open("0.0").await))];
    let ask = stage.question("j1").await;
    for _ in 0..4 {
        readers.push(tokio::spawn(ids(open("0.0").await)));
    }
    assert_eq!(stage.answer("j1", &ask, &json!({"decision": "approve"})).await.0, StatusCode::OK);
    readers.push(tokio::spawn(ids(open("0.0").await)));
    let ask = eventually("the next question", async || match stage.question("j1").await {
        next if next != ask => Ok(next),
        same => Err(same),
    })
    .await;
    let half: Vec<String> = {
        let page = stage.get("/v1/jobs/j1/events").header("accept", "application/json");
        let page: Value = page.send().await.unwrap().json().await.unwrap();
        let events = page["events"].as_array().unwrap().iter();
        events.map(|event| event["id"].as_str().unwrap().to_owned()).collect()
    };
    let resumed = tokio::spawn(ids(open(half.last().unwrap()).await));
    assert_eq!(stage.answer("j1", &ask, &json!({"value": "Ann"})).await.0, StatusCode::OK);
    let whole = readers.remove(0).await.unwrap();
    assert!(whole.len() > half.len() && whole.starts_with(&half), "{whole:?}");
    for reader in readers {
        assert_eq!(reader.await.unwrap(), whole);
    }
    assert_eq!(resumed.await.unwrap(), whole[half.len()..]);
}
