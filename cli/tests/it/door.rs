//! A fake front door: silent, of a newer version, or with invalid replies.

use broker::{
    Broker,
    nats::{self, NatsOptions},
    testing::NatsServer,
};
use bytes::Bytes;
use futures::StreamExt;
use proto::{door::Verb, id::WorkerId, subject::Subjects};
use serde_json::{Value, json};

use crate::support::{Place, ended, eventually, signal};

/// The reply to a request, or `None` for silence.
type Script = fn(verb: Verb, body: &Value) -> Option<Value>;

struct Door {
    server: NatsServer,
    asked: std::sync::Arc<std::sync::Mutex<Vec<Verb>>>,
    _broker: Broker,
}

impl Door {
    async fn open(script: Script) -> Self {
        let server = NatsServer::start().await;
        let options =
            NatsOptions { servers: vec![server.url().to_owned()], ..NatsOptions::default() };
        let subjects = Subjects::new("cb", 8).unwrap();
        let worker = WorkerId::new("door").unwrap();
        let broker = nats::connect(&options, subjects, worker).await.unwrap();
        let verbs = [Verb::Submit, Verb::Get, Verb::List, Verb::Crew];
        let mut requests = broker.bus.serve(verbs.to_vec()).await.unwrap();
        let asked = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = asked.clone();
        tokio::spawn(async move {
            while let Some(request) = requests.next().await {
                seen.lock().unwrap().push(request.verb);
                let body = serde_json::from_slice(&request.payload).unwrap_or_default();
                if let Some(answer) = script(request.verb, &body) {
                    let _ = request.reply.send(Bytes::from(answer.to_string())).await;
                }
                // Dropping the reply sends nothing.
            }
        });
        Self { server, asked, _broker: broker }
    }

    fn was_asked(&self, verb: Verb, times: usize) -> bool {
        self.asked.lock().unwrap().iter().filter(|asked| **asked == verb).count() >= times
    }
}

fn view(job: &Value, state: &str) -> Value {
    json!({
        "job": job, "state": state, "goal": "g", "agent": "default", "language": "en",
        "usage": {"input_tokens": 0, "output_tokens": 0}, "ignored": 0, "records": 1, "seq": 1,
        "created": "2026-11-21T10:00:00Z", "updated": "2026-11-21T10:00:00Z",
        "a_field_of_the_future": {"x": 1},
    })
}

/// Interrupts a submission without a reply, and checks the messages.
async fn interrupted(script: Script, then: &str) {
    let door = Door::open(script).await;
    let place = Place::new();
    let url = door.server.url().to_owned();
    let child = place.command(&["--url", &url, "submit", "g", "--id", "j1"]).spawn().unwrap();
    tokio::task::block_in_place(|| {
        eventually("it is asked", || door.was_asked(Verb::Submit, 1).then_some(()))
    });
    signal(&child, "-INT");
    let ran = tokio::task::block_in_place(|| ended(child)).refused(130, then);
    assert!(ran.err.contains("j1"), "{}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_submission_says_that_the_job_exists() {
    let script: Script = |verb, body| (verb == Verb::Get).then(|| view(&body["job"], "working"));
    interrupted(script, "job j1 exists and is working").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_submission_says_that_there_is_no_job() {
    let script: Script = |verb, _| {
        (verb == Verb::Get)
            .then(|| json!({"error": {"code": "not_found", "message": "no such job", "hint": ""}}))
    };
    interrupted(script, "job j1 does not exist").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_interrupt_ends_at_once() {
    let door = Door::open(|_, _| None).await;
    let place = Place::new();
    let url = door.server.url().to_owned();
    let child = place.command(&["--url", &url, "submit", "g", "--id", "j1"]).spawn().unwrap();
    tokio::task::block_in_place(|| {
        eventually("it is asked", || door.was_asked(Verb::Submit, 1).then_some(()))
    });
    signal(&child, "-INT");
    tokio::task::block_in_place(|| {
        eventually("it looks", || door.was_asked(Verb::Get, 1).then_some(()))
    });
    signal(&child, "-INT");
    let ran = tokio::task::block_in_place(|| ended(child)).expect(130);
    assert!(!ran.err.contains("not known"), "it went on to look: {}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submission_that_nobody_answers_says_how_to_find_out() {
    let door = Door::open(|_, _| None).await;
    let args = ["--url", door.server.url(), "--timeout", "200ms", "submit", "g", "--id", "j1"];
    let ran = tokio::task::block_in_place(|| Place::new().run(&args)).refused(5, "not known");
    assert!(ran.err.contains("--id j1"), "{}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_another_version_are_read_or_refused_exactly() {
    let script: Script = |verb, body| match (verb, body["job"].as_str()) {
        (Verb::Get, Some("hibernates")) => Some(view(&body["job"], "hibernating")),
        (Verb::Get, _) => Some(view(&body["job"], "working")),
        (Verb::List, _) => Some(json!({"jobs": [], "more": false, "cursor": "new"})),
        (Verb::Submit, _) => Some(json!({"error": {
            "code": "unsupported_version", "message": "v: this server speaks version 0", "hint": "upgrade",
        }})),
        _ => Some(json!({"error": {"code": "a_code_of_the_future", "message": "m"}})),
    };
    let door = Door::open(script).await;
    let place = Place::new();
    let run = |args: &[&str]| {
        let args = [&["--url", door.server.url()], args].concat();
        tokio::task::block_in_place(|| place.run(&args))
    };
    run(&["jobs", "describe", "j1"]).expect(0);
    run(&["jobs", "ls"]).expect(0);
    run(&["submit", "g"]).refused(6, "this server speaks version 0");
    let ran = run(&["jobs", "describe", "hibernates"]).refused(70, "hibernating");
    assert!(ran.err.contains("same version"), "{}", ran.err);
    let ran = run(&["crew", "ls"]).expect(70);
    assert!(ran.err.contains("answer to crew cannot be read"), "{}", ran.err);
}
