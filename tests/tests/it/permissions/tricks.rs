//! What the broker lets through although it should not: headers and reply subjects by which it is
//! made to write in its own name, where the sender has no right to. Readers of the log leave it out.

use std::time::{Duration, Instant};

use proto::{
    fact::Source,
    id::{JobId, Seq, WorkerId},
    subject::{Family, Subjects},
};
use runtime::{broker::Broker, nats};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::{broker::Brokers, wire::Wire};

const CREW: &str = "cb.6.demo.in.crew";
const PEOPLE: &str = "cb.6.demo.in.people";
const CALL: &str = "cb.6.demo.do.call.builtin";
const STREAM: &str = "cb-shard-6";

/// A person's yes, as only the desk may write it.
fn answer() -> String {
    json!({
        "v": 1, "kind": "answered", "id": "forged", "by": "mallory",
        "body": {"ask": "q1", "decision": "approve", "by": "mallory"},
    })
    .to_string()
}

struct Case {
    _brokers: Brokers,
    broker: Broker,
    tools: Wire,
    operator: Wire,
}

impl Case {
    async fn new() -> Self {
        let brokers = Brokers::single();
        brokers.set_up(1);
        let seed = std::fs::read_to_string(brokers.file("supervisor.nk")).unwrap();
        let options = nats::NatsOptions {
            servers: vec![brokers.url()],
            nkey: Some(SecretString::from(seed.trim().to_owned())),
            require_tls: true,
            ca_file: Some(brokers.file("ca.pem")),
            inbox_prefix: "_INBOX_supervisor".to_owned(),
            create: false,
            ..nats::NatsOptions::default()
        };
        let subjects = Subjects::new("cb", 8).unwrap();
        let writer = WorkerId::new("test").unwrap();
        let broker = nats::connect(&options, subjects, writer).await.unwrap();
        let (tools, operator) = (brokers.wire("tools"), brokers.wire("operator"));
        Self { _brokers: brokers, broker, tools, operator }
    }

    /// What readers of the log see of the job.
    async fn seen(&self) -> Vec<Family> {
        let job = JobId::new("demo").unwrap();
        let entries = self.broker.log.read(&job, Seq(0)).await.unwrap();
        entries.into_iter().map(|entry| entry.family).collect()
    }

    /// Waits until something is stored on a subject. It is really there: what is tested is that
    /// nobody believes it.
    fn until_stored(&mut self, subject: &str) {
        let ask = json!({"last_by_subj": subject}).to_string();
        let get = format!("$JS.API.STREAM.MSG.GET.{STREAM}");
        let started = Instant::now();
        loop {
            let said = self.operator.request("_INBOX_operator", &get, &[], &ask);
            let said: Value = serde_json::from_str(&said.payload).unwrap();
            if said.get("message").is_some() {
                return;
            }
            assert!(started.elapsed() < Duration::from_secs(20), "nothing comes to {subject}");
            super::broker::pause();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_of_a_worker_forges_no_answer_no_decision_and_no_timer() {
    let mut case = Case::new().await;
    for target in [PEOPLE, CALL, "cb.6.demo.in.clock"] {
        let headers =
            [("Nats-Schedule", "@at 2020-01-01T00:00:00Z"), ("Nats-Schedule-Target", target)];
        case.tools.request("_INBOX_tools", CREW, &headers, &answer());
        case.until_stored(target);
    }
    assert_eq!(case.seen().await, []);
    // And what is written as it should be is seen.
    case.tools.request("_INBOX_tools", CREW, &[], &answer());
    assert_eq!(case.seen().await, [Family::In(Source::Crew)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_is_answered_into_the_log_forges_nothing() {
    let mut case = Case::new().await;
    case.tools.request("_INBOX_tools", CREW, &[], &answer());
    let ask = json!({"last_by_subj": CREW}).to_string();
    for target in [PEOPLE, CALL] {
        let get = format!("$JS.API.DIRECT.GET.{STREAM}");
        let complaints = case.tools.publish(&get, Some(target), &[], &ask);
        // Should the server begin to check reply subjects, this test has done its duty.
        assert_eq!(complaints, Vec::<String>::new());
        case.until_stored(target);
    }
    assert_eq!(case.seen().await, [Family::In(Source::Crew)]);
}

/// What permissions cannot prevent, and docs/security.md says so. Should the server ever, the
/// document has to be mended.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_may_write_into_a_stream_can_erase_it() {
    let mut case = Case::new().await;
    case.tools.request("_INBOX_tools", "cb.6.demo.in.crew", &[], &answer());
    case.tools.request("_INBOX_tools", "cb.6.other.in.crew", &[("Nats-Rollup", "all")], "{}");
    assert_eq!(case.seen().await, []);
}
