//! Tests of messages that the broker accepts although their sender has no right to them: headers
//! and reply subjects make the broker write in its own name. Readers of the log ignore those
//! records.

use broker::{
    Broker,
    kv::Bucket,
    log::LogError,
    nats,
    testing::{
        jobs::submitted,
        wait::{eventually_blocking, soon},
    },
};
use proto::{
    decision::pools,
    entry::Entry,
    fact::{Fact, Source},
    id::{JobId, Seq, WorkerId},
    subject::{Family, Subjects},
    trace::TraceContext,
};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::{broker::Brokers, wire::Wire};

const RESULTS: &str = "cb.6.demo.in.call.builtin";
const TURN: &str = "cb.6.demo.in.turn";
const PEOPLE: &str = "cb.6.demo.in.people";
const CALL: &str = "cb.6.demo.do.call.builtin";
const STREAM: &str = "cb-shard-6";
/// The mark of a message on [`RESULTS`].
const MARKED: [(&str, &str); 1] = [("Callboard-Subject", RESULTS)];

/// Returns an approval, which only the inbox may write.
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
    executor: Wire,
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
        let [tools, executor, operator] =
            ["tools", "executor", "operator"].map(|user| brokers.wire(user));
        Self { _brokers: brokers, broker, tools, executor, operator }
    }

    /// Returns the records that readers of the log see, and the number of forged ones.
    async fn seen(&self) -> (Vec<Family>, usize) {
        let job = JobId::new("demo").unwrap();
        let entries = self.broker.log.read(&job, Seq(0)).await.unwrap();
        let (forged, seen): (Vec<_>, Vec<_>) = entries.into_iter().partition(Entry::is_forged);
        let is_decision = |entry: &Entry| matches!(entry.family, Family::Do(..));
        assert!(!forged.iter().any(is_decision), "{forged:?}");
        (seen.into_iter().map(|entry| entry.family).collect(), forged.len())
    }

    /// Waits until a message is stored on a subject. It is really stored: the tests show that
    /// readers ignore it.
    fn until_stored(&mut self, subject: &str) {
        self.until_stored_in(STREAM, subject);
    }

    fn until_stored_in(&mut self, stream: &str, subject: &str) {
        until_stored(&mut self.operator, stream, subject);
    }
}

/// Waits until a message is stored on a subject, as seen by the operator.
pub(super) fn until_stored(operator: &mut Wire, stream: &str, subject: &str) {
    let ask = json!({"last_by_subj": subject}).to_string();
    let get = format!("$JS.API.STREAM.MSG.GET.{stream}");
    eventually_blocking(subject, || {
        let said = operator.request("_INBOX_operator", &get, &[], &ask);
        let said: Value = serde_json::from_str(&said.payload).unwrap();
        said.get("message").map(drop).ok_or("nothing is stored")
    });
}

/// Returns the last message on a subject, as seen by the operator.
pub(super) fn stored(operator: &mut Wire, stream: &str, subject: &str) -> Option<Value> {
    let ask = json!({"last_by_subj": subject}).to_string();
    let get = format!("$JS.API.STREAM.MSG.GET.{stream}");
    let said = operator.request("_INBOX_operator", &get, &[], &ask);
    let mut said: Value = serde_json::from_str(&said.payload).unwrap();
    said.get_mut("message").map(Value::take)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_of_a_worker_forges_no_answer_no_decision_and_no_timer() {
    let mut case = Case::new().await;
    for target in [PEOPLE, CALL, "cb.6.demo.in.clock"] {
        let headers =
            [("Nats-Schedule", "@at 2020-01-01T00:00:00Z"), ("Nats-Schedule-Target", target)];
        case.tools.request("_INBOX_tools", RESULTS, &headers, &answer());
        case.until_stored(target);
    }
    assert_eq!(case.seen().await, (vec![], 2));
    // A record by the right writer is visible.
    case.tools.request("_INBOX_tools", RESULTS, &MARKED, &answer());
    assert_eq!(case.seen().await, (vec![Family::In(Source::Call(pools::builtin()))], 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_is_answered_into_the_log_forges_nothing() {
    let mut case = Case::new().await;
    case.tools.request("_INBOX_tools", RESULTS, &MARKED, &answer());
    let ask = json!({"last_by_subj": RESULTS}).to_string();
    for target in [PEOPLE, CALL] {
        let get = format!("$JS.API.DIRECT.GET.{STREAM}");
        let complaints = case.tools.publish(&get, Some(target), &[], &ask);
        // If the server begins to check reply subjects, this test has served its purpose.
        assert_eq!(complaints, Vec::<String>::new());
        case.until_stored(target);
    }
    assert_eq!(case.seen().await, (vec![Family::In(Source::Call(pools::builtin()))], 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_a_worker_took_is_refused_and_not_waited_for() {
    let mut case = Case::new().await;
    let door = "cb.6.demo.in.door";
    let headers = [("Nats-Schedule", "@at 2020-01-01T00:00:00Z"), ("Nats-Schedule-Target", door)];
    case.tools.request("_INBOX_tools", RESULTS, &headers, &answer());
    case.until_stored(door);
    let fact = Fact::Submitted(submitted("a goal"));
    let job = JobId::new("demo").unwrap();
    let stored = case.broker.log.submit(&job, &fact, TraceContext::new(1, 1, false));
    let refused = soon("a submission that is refused", stored).await;
    assert!(matches!(&refused, Err(LogError::Taken(_))), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_is_answered_into_a_bucket_forges_no_value() {
    let mut case = Case::new().await;
    let (tool, forged) = ("$KV.cb-tools.echo", r#"{"name":"echo"}"#);
    // The server can be made to write, where the worker may not, whatever the worker may write
    // elsewhere.
    case.executor.request("_INBOX_executor", TURN, &[("Callboard-Subject", TURN)], forged);
    let get = format!("$JS.API.DIRECT.GET.{STREAM}");
    let ask = json!({"last_by_subj": TURN}).to_string();
    assert_eq!(case.executor.publish(&get, Some(tool), &[], &ask), Vec::<String>::new());
    case.until_stored_in("KV_cb-tools", tool);
    let kv = &case.broker.kv;
    assert_eq!(kv.get(Bucket::Tools, "echo").await.unwrap(), None);
    assert_eq!(kv.list(Bucket::Tools, "").await.unwrap(), []);
}

/// An answer of the server's API is plain JSON.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_the_server_is_no_record() {
    let mut case = Case::new().await;
    for target in [PEOPLE, CALL, RESULTS] {
        let complaints = case.tools.publish("$JS.API.INFO", Some(target), &[], "");
        assert_eq!(complaints, Vec::<String>::new());
        case.until_stored(target);
    }
    assert_eq!(case.seen().await, (vec![], 2));
}

/// The server's answer to a read of a missing record is recognisable only by its status.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_answer_that_is_sent_into_a_bucket_is_no_value() {
    let mut case = Case::new().await;
    let get = format!("$JS.API.DIRECT.GET.{STREAM}");
    let nothing = json!({"last_by_subj": "cb.6.nobody.in.call.builtin"}).to_string();
    let buckets =
        [(Bucket::Agents, "careful"), (Bucket::Tools, "echo"), (Bucket::Conversations, "talk")];
    for (bucket, key) in buckets {
        let target = format!("$KV.cb-{}.{key}", bucket.name());
        let complaints = case.tools.publish(&get, Some(&target), &[], &nothing);
        assert_eq!(complaints, Vec::<String>::new());
        case.until_stored_in(&format!("KV_cb-{}", bucket.name()), &target);
        assert_eq!(case.broker.kv.get(bucket, key).await.unwrap(), None, "{target}");
    }
}

/// Permissions cannot prevent this, as docs/security.md explains. If the server ever does, the
/// document must change.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_may_write_into_a_stream_can_erase_it() {
    let mut case = Case::new().await;
    case.tools.request("_INBOX_tools", RESULTS, &[], &answer());
    case.tools.request(
        "_INBOX_tools",
        "cb.6.other.in.call.builtin",
        &[("Nats-Rollup", "all")],
        "{}",
    );
    assert_eq!(case.seen().await, (vec![], 0));
}
