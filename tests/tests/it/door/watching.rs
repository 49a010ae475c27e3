//! Tests of `watch`: every record once and in order, over any number of watches.

use broker::{
    Broker,
    bus::RequestContext,
    memory::MemoryOptions,
    nats::{NatsOptions, connect},
    testing::{
        NatsServer,
        wait::{PATIENCE, eventually, soon},
    },
};
use bytes::Bytes;
use futures::StreamExt;
use proto::{
    door::Watched,
    error::Code,
    fact::Source,
    id::{Attempt, JobId, Seq, StepId, WorkId, WorkerId},
    subject::Subjects,
    wire::{self, Live, LiveUpdate},
};
use rstest::rstest;
use serde_json::json;

use super::hall::{Hall, Setup, ask, open, open_on};
use crate::supervisor::company::Company;

type Answers = futures::stream::BoxStream<'static, Watched>;

async fn watch(broker: &Broker, body: serde_json::Value) -> Answers {
    let subject = broker.log.subjects().service("watch");
    let body = Bytes::from(body.to_string());
    let (context, idle) = (RequestContext::default(), PATIENCE);
    let answers = broker.bus.request_many(subject, body, context, idle).await.unwrap();
    answers.map(|m| serde_json::from_slice(&m.unwrap().payload).unwrap()).boxed()
}

async fn next(answers: &mut Answers) -> Watched {
    soon("an answer", answers.next()).await.expect("a watch ends with `end`")
}

/// Returns the records up to the end, the last state, and the end.
async fn to_the_end(answers: &mut Answers) -> (Vec<u64>, Option<String>, Watched) {
    let (mut records, mut state) = (Vec::new(), None);
    loop {
        match next(answers).await {
            Watched::Record { seq, .. } => records.push(seq.0),
            Watched::View { view } => state = Some(view.state.to_string()),
            Watched::Live { .. } | Watched::Heartbeat | Watched::Event { .. } => {}
            end @ Watched::End { .. } => return (records, state, end),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_shows_every_record_and_ends_with_the_job() {
    let company = Company::at_work(MemoryOptions::default(), "s1 s2<s1").await;
    let _door = open(&company.memory, Setup::default()).await;
    let job = company.submit("j").await;
    let mut answers = watch(&company.broker, json!({"job": "j"})).await;
    let (records, state, end) = to_the_end(&mut answers).await;
    assert_eq!((state.as_deref(), &end), (Some("completed"), &Watched::End { error: None }));
    let stored = company.broker.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(records, stored.iter().map(|entry| entry.seq.0).collect::<Vec<_>>());
    // A watch of an ended job may begin at any position, and ends at once.
    for (n, after) in records.iter().enumerate() {
        let mut answers = watch(&company.broker, json!({"job": "j", "after": after})).await;
        let (missed, state, _) = to_the_end(&mut answers).await;
        assert_eq!((missed, state.as_deref()), (records[n + 1..].to_vec(), Some("completed")));
    }
}

#[rstest]
#[case::records(json!({"job": "j", "stored": true}))]
#[case::events(json!({"job": "j", "stored": true, "events": true}))]
#[tokio::test]
async fn a_watch_of_what_is_stored_ends_with_its_first_view(#[case] request: serde_json::Value) {
    let hall = Hall::new().await;
    hall.ask("submit", r#"{"id":"j","goal":"g"}"#).await.unwrap();
    hall.ask("signal", r#"{"job":"j","signal":"pause"}"#).await.unwrap();
    let mut answers = watch(&hall.broker, request).await;
    let (mut items, mut views) = (0, Vec::new());
    loop {
        match next(&mut answers).await {
            Watched::View { view } => views.push(view.sub_status.map(|status| status.to_string())),
            Watched::End { error } => break assert_eq!(error, None),
            Watched::Record { .. } | Watched::Event { .. } => {
                assert!(views.is_empty(), "records come before their view");
                items += 1;
            }
            other @ (Watched::Live { .. } | Watched::Heartbeat) => panic!("{other:?}"),
        }
    }
    assert_eq!(views, [Some("paused".to_owned())]);
    assert!(items >= 2, "{items}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_that_comes_back_gets_exactly_what_it_missed() {
    let company = Company::at_work(MemoryOptions::default(), "s1 s2<s1 s3<s2 s4<s3").await;
    let _door = open(&company.memory, Setup::default()).await;
    let job = company.submit("j").await;
    let mut seen: Vec<u64> = Vec::new();
    // Each watch is dropped after its first new record.
    loop {
        let after = seen.last().copied().unwrap_or_default();
        let mut answers = watch(&company.broker, json!({"job": "j", "after": after})).await;
        let record = loop {
            match next(&mut answers).await {
                Watched::Record { seq, .. } => break Some(seq.0),
                Watched::End { .. } => break None,
                Watched::View { .. }
                | Watched::Live { .. }
                | Watched::Heartbeat
                | Watched::Event { .. } => {}
            }
        };
        match record {
            Some(seq) => seen.push(seq),
            None => break,
        }
    }
    let stored = company.broker.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(seen, stored.iter().map(|entry| entry.seq.0).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_record_is_shown_as_it_is_stored() {
    let hall = Hall::new().await;
    hall.ask("submit", r#"{"id":"j","goal":"g"}"#).await.unwrap();
    let mut answers = watch(&hall.broker, json!({"job": "j"})).await;
    let Watched::Record { family, record, .. } = next(&mut answers).await else { panic!() };
    assert_eq!((family.as_str(), &record["kind"]), ("in.door", &json!("submitted")));
    assert_eq!(record["body"]["goal"], "g");
    assert!(matches!(next(&mut answers).await, Watched::View { view } if view.records == 1));
}

#[tokio::test(start_paused = true)]
async fn what_is_said_while_work_is_done_is_passed_on_and_silence_is_filled() {
    let hall = Hall::new().await;
    hall.ask("submit", r#"{"id":"j","goal":"g"}"#).await.unwrap();
    let mut answers = watch(&hall.broker, json!({"job": "j", "live": true})).await;
    loop {
        match next(&mut answers).await {
            Watched::Heartbeat => break,
            Watched::Record { .. } | Watched::View { .. } => {}
            other @ (Watched::Live { .. } | Watched::Event { .. } | Watched::End { .. }) => {
                panic!("{other:?}")
            }
        }
    }
    let said = Live {
        work: WorkId::new("g0.r0.s1.n1.t1").unwrap(),
        attempt: Attempt(2),
        step: Some(StepId::new("s1").unwrap()),
        index: 7,
        said: LiveUpdate::Text("好".into()),
    };
    let subject = hall.broker.log.subjects().live(&JobId::new("j").unwrap());
    let publish = |bytes: Vec<u8>| hall.broker.bus.publish(subject.clone(), Bytes::from(bytes));
    publish(b"not ours".to_vec()).await.unwrap();
    publish(wire::encode(&said).unwrap()).await.unwrap();
    let Watched::Live { what, text, index, attempt, .. } = next(&mut answers).await else {
        panic!()
    };
    assert_eq!((what.as_str(), text.as_str(), index, attempt), ("text", "好", 7, 2));
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_after_a_while_and_says_how_to_go_on() {
    let hall = Hall::new().await;
    hall.ask("submit", r#"{"id":"j","goal":"g"}"#).await.unwrap();
    let mut answers = watch(&hall.broker, json!({"job": "j"})).await;
    let (records, _, end) = to_the_end(&mut answers).await;
    let Watched::End { error: Some(failure) } = end else { panic!("{end:?}") };
    assert_eq!((records.len(), failure.code), (1, Code::Unavailable));
    assert!(failure.hint.contains("`after`"), "{}", failure.hint);
}

#[tokio::test]
async fn a_door_that_closes_ends_its_watches_and_stops() {
    let hall = Hall::new().await;
    hall.ask("submit", r#"{"id":"j","goal":"g"}"#).await.unwrap();
    let mut answers = watch(&hall.broker, json!({"job": "j"})).await;
    next(&mut answers).await;
    hall.door.shutdown.cancel();
    let (_, _, end) = to_the_end(&mut answers).await;
    assert!(matches!(end, Watched::End { error: Some(f) } if f.code == Code::Unavailable));
    soon("the end of the door", hall.door.actor.wait(None)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn more_watches_than_there_is_room_for_are_refused_and_room_comes_back() {
    let setup = Setup { watches: 2, in_flight: 3, ..Setup::default() };
    let hall = Hall::with(MemoryOptions::default(), setup).await;
    hall.ask("submit", r#"{"id":"j","goal":"g"}"#).await.unwrap();
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut answers = watch(&hall.broker, json!({"job": "j"})).await;
        next(&mut answers).await;
        open.push(answers);
    }
    assert_eq!(hall.refused("watch", r#"{"job":"j"}"#).await.0, Code::Overloaded);
    // Watches do not count among the concurrent requests.
    hall.ask("get", r#"{"job":"j"}"#).await.unwrap();
    open.pop();
    is_watched_again(&hall.broker).await;
}

/// Waits until the job `j` can be watched.
async fn is_watched_again(broker: &Broker) {
    eventually("room for a watch", async || {
        let refused = format!("{:?}", ask(broker, "watch", r#"{"job":"j"}"#, None).await);
        if refused.contains("Overloaded") { Err(refused) } else { Ok(()) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_that_has_gone_leaves_its_place_on_nats() {
    let server = NatsServer::start().await;
    let connected = async |name: &str| {
        let options =
            NatsOptions { servers: vec![server.url().to_owned()], ..NatsOptions::default() };
        let subjects = Subjects::new("cb", 2).unwrap();
        connect(&options, subjects, WorkerId::new(name).unwrap()).await.unwrap()
    };
    let broker = connected("test").await;
    let setup = Setup { watches: 1, ..Setup::default() };
    let _door = open_on(connected("door").await, setup).await;
    ask(&broker, "submit", r#"{"id":"j","goal":"g"}"#, None).await.unwrap();
    let mut answers = watch(&broker, json!({"job": "j"})).await;
    // A watcher that listens keeps its place over several heartbeats.
    for _ in 0..2 {
        while !matches!(next(&mut answers).await, Watched::Heartbeat) {}
    }
    drop(answers);
    is_watched_again(&broker).await;
}

#[tokio::test]
async fn a_job_whose_first_record_cannot_be_read_is_shown_as_far_as_it_can_be() {
    let hall = Hall::new().await;
    let job = JobId::new("j").unwrap();
    let subject = hall.broker.log.subjects().fact(&job, &Source::Door);
    hall.memory.store_raw(&subject, Bytes::from_static(b"\xff")).unwrap();
    let (records, _, end) = to_the_end(&mut watch(&hall.broker, json!({"job": "j"})).await).await;
    assert!(matches!(end, Watched::End { error: Some(f) } if f.code == Code::Poisoned));
    assert_eq!(records.len(), 1);
}

/// Returns the ids and contents of all events, from after one of them.
async fn events_after(broker: &Broker, after: Option<&str>) -> Vec<(String, serde_json::Value)> {
    let mut body = json!({"job": "j", "events": true});
    if let Some(after) = after {
        body["after_event"] = json!(after);
    }
    let mut answers = watch(broker, body).await;
    let mut events = Vec::new();
    loop {
        match next(&mut answers).await {
            Watched::Event { event } => {
                events.push((event.id.to_string(), serde_json::to_value(&event).unwrap()));
            }
            Watched::View { .. } | Watched::Heartbeat => {}
            Watched::End { error: None } => return events,
            other @ (Watched::Record { .. } | Watched::Live { .. } | Watched::End { .. }) => {
                panic!("{other:?}")
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_go_on_after_any_of_them_and_are_the_same_live_and_later() {
    let company = Company::at_work(MemoryOptions::default(), "s1 s2<s1").await;
    let _door = open(&company.memory, Setup::default()).await;
    company.submit("j").await;
    let live = events_after(&company.broker, None).await;
    assert!(live.len() > 8, "{live:?}");
    assert_eq!(events_after(&company.broker, None).await, live);
    for (n, (id, _)) in live.iter().enumerate() {
        assert_eq!(events_after(&company.broker, Some(id)).await, live[n + 1..], "after {id}");
        // A record's position stands for all of its events.
        let (record, _) = id.split_once('.').unwrap();
        let of_record = |(id, _): &&(String, _)| id.split_once('.').unwrap().0 == record;
        let rest = live.iter().rposition(|event| of_record(&event)).unwrap() + 1;
        assert_eq!(events_after(&company.broker, Some(record)).await, live[rest..]);
    }
}

/// Watchers that arrive at different times see the same, whatever the door keeps in memory.
#[rstest]
#[case::all_that_was_watched(door::WATCH_BYTES_MAX)]
#[case::nothing(0)]
#[tokio::test(flavor = "multi_thread")]
async fn many_watchers_of_a_job_see_the_same_however_much_is_kept_for_them(
    #[case] watch_bytes: usize,
) {
    let company = Company::at_work(MemoryOptions::default(), "s1 s2<s1 s3<s2 s4<s3").await;
    let _door = open(&company.memory, Setup { watch_bytes, ..Setup::default() }).await;
    let job = company.submit("j").await;
    let mut watchers = Vec::new();
    for n in 0..20 {
        let broker = company.broker.clone();
        watchers.push(tokio::spawn(async move {
            if n % 2 == 0 {
                return (events_after(&broker, None).await, Vec::new());
            }
            let mut answers = watch(&broker, json!({"job": "j"})).await;
            (Vec::new(), to_the_end(&mut answers).await.0)
        }));
        tokio::task::yield_now().await;
    }
    let mut seen = Vec::new();
    for watcher in watchers {
        seen.push(watcher.await.unwrap());
    }
    let stored = company.broker.log.read(&job, Seq(0)).await.unwrap();
    let stored: Vec<_> = stored.iter().map(|entry| entry.seq.0).collect();
    let events = events_after(&company.broker, None).await;
    for (n, (told, records)) in seen.into_iter().enumerate() {
        match n % 2 {
            0 => assert_eq!(told, events, "watcher {n}"),
            _ => assert_eq!(records, stored, "watcher {n}"),
        }
    }
}
