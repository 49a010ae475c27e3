//! Tests of the front door on a real nats-server, with a caller that uses only the text protocol of
//! NATS.

use std::fmt::Display;

use broker::{
    Broker,
    bus::BusError,
    nats::{NatsOptions, connect},
    testing::{
        NatsServer,
        wait::{eventually, soon},
    },
};
use futures::{StreamExt, future::join_all};
use jiff::SignedDuration;
use proto::{
    error::Code,
    id::{JobId, Seq, WorkerId},
    subject::Subjects,
};
use runtime::telemetry::new_trace;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

use super::hall::{OpenDoor, Setup, ask, open_on, send};

/// An installation on a server of its own, with one door.
struct House {
    server: NatsServer,
    broker: Broker,
    _door: OpenDoor,
}

async fn connected(server: &NatsServer, name: &str) -> Broker {
    let options = NatsOptions { servers: vec![server.url().to_owned()], ..NatsOptions::default() };
    let subjects = Subjects::new("cb", 2).unwrap();
    connect(&options, subjects, WorkerId::new(name).unwrap()).await.unwrap()
}

impl House {
    async fn new() -> Self {
        let server = NatsServer::start().await;
        let broker = connected(&server, "test").await;
        let _door = open_on(connected(&server, "door").await, Setup::default()).await;
        Self { server, broker, _door }
    }

    async fn ask(
        &self,
        verb: impl Display + Copy,
        body: &str,
    ) -> Result<Value, proto::error::Failure> {
        ask(&self.broker, verb, body, None).await
    }

    async fn records(&self, job: &str) -> usize {
        let job = JobId::new(job).unwrap();
        self.broker.log.read(&job, Seq(0)).await.unwrap().len()
    }
}

/// A caller that writes the protocol by hand.
struct Raw(BufReader<TcpStream>);

/// A reply: the raw headers, and the body.
struct Answer {
    headers: String,
    body: Value,
}

impl Raw {
    async fn open(server: &NatsServer) -> Self {
        let address = server.url().strip_prefix("nats://").unwrap();
        let mut raw = Self(BufReader::new(TcpStream::connect(address).await.unwrap()));
        raw.write(b"CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB _INBOX.raw 1\r\nPING\r\n")
            .await;
        while raw.line().await != "PONG" {}
        raw
    }

    async fn write(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).await.unwrap();
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        soon("what the server says", self.0.read_line(&mut line)).await.unwrap();
        line.trim_end().to_owned()
    }

    /// Publishes with headers and a reply subject of the caller's choice.
    async fn publish(&mut self, verb: &str, reply: &str, headers: &[(&str, &str)], body: &str) {
        let mut block = "NATS/1.0\r\n".to_owned();
        for (name, value) in headers {
            block.push_str(&format!("{name}: {value}\r\n"));
        }
        block.push_str("\r\n");
        let (head, all) = (block.len(), block.len() + body.len());
        let line = format!("HPUB cb.svc.{verb} {reply} {head} {all}\r\n{block}{body}\r\nPING\r\n");
        self.write(line.as_bytes()).await;
    }

    /// Returns the next message. Panics when the server stays silent after the last ping.
    async fn answer(&mut self) -> Answer {
        loop {
            let line = self.line().await;
            let words: Vec<&str> = line.split(' ').collect();
            let (head, all): (usize, usize) = match words.as_slice() {
                ["MSG", .., all] => (0, all.parse().unwrap()),
                ["HMSG", .., head, all] => (head.parse().unwrap(), all.parse().unwrap()),
                ["PING"] => {
                    self.write(b"PONG\r\n").await;
                    continue;
                }
                ["PONG"] => continue,
                other => panic!("{other:?}"),
            };
            let mut bytes = vec![0; all + 2];
            self.0.read_exact(&mut bytes).await.unwrap();
            let headers = String::from_utf8(bytes[..head].to_vec()).unwrap();
            return Answer { headers, body: serde_json::from_slice(&bytes[head..all]).unwrap() };
        }
    }
}

const WHOLE: &str = r#"{"id":"j","goal":"g"}"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_body_the_broker_does_not_take_fails_at_the_client_and_harms_no_connection() {
    let house = House::new().await;
    let error = send(&house.broker, "submit", vec![b'x'; 2 << 20], None).await.unwrap_err();
    assert!(matches!(error, BusError::TooLarge(_)), "{error}");
    let large = " ".repeat(500_000);
    assert_eq!(house.ask("submit", &large).await.unwrap_err().code, Code::TooLarge);
    house.ask("submit", WHOLE).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_equal_submissions_at_once_are_one_job() {
    let house = House::new().await;
    let answers = join_all((0..1000).map(|_| house.ask("submit", WHOLE))).await;
    let created = answers.iter().filter(|a| a.as_ref().unwrap()["created"] == true).count();
    assert_eq!((created, house.records("j").await), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_submission_attaches_after_the_server_was_killed() {
    let mut house = House::new().await;
    let first = house.ask("submit", WHOLE).await.unwrap();
    house.server.kill9();
    house.server.restart().await;
    // The connections recover by themselves. Until then requests fail and are repeated.
    let again = eventually("a submission that is taken", async || {
        let answer = send(&house.broker, "submit", WHOLE, None).await;
        let answer = answer.map_err(|error| error.to_string())?;
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        if answer.get("error").is_none() { Ok(answer) } else { Err(answer.to_string()) }
    })
    .await;
    assert_eq!((&again["created"], &again["seq"]), (&json!(false), &first["seq"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_of_a_caller_have_no_effect_on_what_is_stored() {
    let house = House::new().await;
    let mut raw = Raw::open(&house.server).await;
    let forged = [
        ("Nats-Expected-Last-Sequence", "99"),
        ("Nats-Expected-Last-Subject-Sequence", "99"),
        ("Nats-Expected-Stream", "other"),
        ("Nats-Rollup", "all"),
        ("Nats-TTL", "1s"),
        ("Nats-Schedule", "@at 2099-01-01T00:00:00Z"),
        ("Nats-Msg-Id", "1"),
        ("tenant", "other"),
        ("By", "root"),
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ];
    for id in ["one", "two"] {
        let body = format!(r#"{{"id":"{id}","goal":"g"}}"#);
        raw.publish("submit", "_INBOX.raw", &forged, &body).await;
        let answer = raw.answer().await;
        assert_eq!(answer.body["created"], true, "{}", answer.body);
    }
    let entries = house.broker.log.read(&JobId::new("one").unwrap(), Seq(0)).await.unwrap();
    // Only the trace is taken from the headers, and no unknown user is recorded.
    assert_eq!(entries[0].trace.unwrap().trace_id(), 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c);
    let record = serde_json::to_value(entries[0].record.as_ref().unwrap()).unwrap();
    assert_eq!((&record["by"], record["body"].get("by")), (&json!("door"), None));
    // A timer that fires after the forged time to live of one second; both use the server's clock.
    let (probe, at) =
        (JobId::new("probe").unwrap(), entries[0].time + SignedDuration::from_secs(2));
    house.broker.log.arm(&probe, &"t".parse().unwrap(), at, new_trace()).await.unwrap();
    let mut fired = house.broker.log.watch(&probe, Seq(0)).await.unwrap();
    soon("the timer", fired.next()).await.unwrap().unwrap();
    assert_eq!((house.records("one").await, house.records("two").await), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_is_sent_into_the_servers_or_a_jobs_subjects() {
    let house = House::new().await;
    house.ask("submit", r#"{"id":"victim","goal":"g"}"#).await.unwrap();
    let victim = JobId::new("victim").unwrap();
    let subjects = house.broker.log.subjects();
    let log = subjects.fact(&victim, &proto::fact::Source::People);
    let mut raw = Raw::open(&house.server).await;
    for reply in [log.as_str(), "$JS.API.STREAM.PURGE.cb-shard-0", "cb.svc.get", ""] {
        raw.publish("get", reply, &[], r#"{"job":"victim"}"#).await;
    }
    // A request that is answered proves that the requests before it were processed.
    raw.publish("get", "_INBOX.raw", &[], r#"{"job":"victim"}"#).await;
    assert_eq!(raw.answer().await.body["records"], 1);
    assert_eq!(house.records("victim").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_says_so_in_the_headers_of_a_service_too() {
    let house = House::new().await;
    let mut raw = Raw::open(&house.server).await;
    raw.publish("get", "_INBOX.raw", &[], r#"{"job":"nobody"}"#).await;
    let answer = raw.answer().await;
    assert_eq!(answer.body["error"]["code"], "not_found");
    let text = "Nats-Service-Error: there is no job nobody";
    assert!(answer.headers.contains(text), "{}", answer.headers);
    assert!(answer.headers.contains("Nats-Service-Error-Code: 404"), "{}", answer.headers);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_over_nats_sends_every_record_and_then_heartbeats() {
    let house = House::new().await;
    house.ask("submit", WHOLE).await.unwrap();
    let mut raw = Raw::open(&house.server).await;
    raw.publish("watch", "_INBOX.raw", &[], r#"{"job":"j"}"#).await;
    assert_eq!(raw.answer().await.body["type"], "record");
    assert_eq!(raw.answer().await.body["type"], "view");
    house.ask("signal", r#"{"job":"j","signal":"pause"}"#).await.unwrap();
    assert_eq!(raw.answer().await.body["record"]["kind"], "signaled");
    assert_eq!(raw.answer().await.body["view"]["sub_status"], "paused");
}
