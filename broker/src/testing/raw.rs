//! A writer of raw bytes, to imitate another release of Callboard, a foreign program, or an
//! operator who destroys a stream. It checks nothing it does, so no production code may use it.

use async_nats::{Client, HeaderMap, header};
use bytes::Bytes;
use proto::id::Seq;
use serde_json::Value;

/// A connection that stores arbitrary bytes on a stream's subjects.
#[derive(Debug, Clone)]
pub struct RawWriter {
    client: Client,
}

impl RawWriter {
    /// Connects without credentials.
    ///
    /// # Panics
    /// If the server is unreachable.
    pub async fn connect(url: &str) -> Self {
        Self { client: async_nats::connect(url).await.expect("a server can be reached") }
    }

    /// Destroys a stream, and returns its configuration.
    ///
    /// # Panics
    /// If the server does not answer, or has no such stream.
    pub async fn destroy(&self, stream: &str) -> Value {
        let config =
            self.ask(&format!("STREAM.INFO.{stream}"), Bytes::new()).await["config"].take();
        self.ask(&format!("STREAM.DELETE.{stream}"), Bytes::new()).await;
        config
    }

    /// Creates a stream.
    ///
    /// # Panics
    /// If the server does not answer, or refuses.
    pub async fn create(&self, config: &Value) {
        let name = config["name"].as_str().unwrap_or_default();
        self.ask(&format!("STREAM.CREATE.{name}"), config.to_string().into()).await;
    }

    async fn ask(&self, verb: &str, body: Bytes) -> Value {
        let answer = self.client.request(format!("$JS.API.{verb}"), body).await;
        let answer = answer.expect("the server answers").payload;
        let answer: Value = serde_json::from_slice(&answer).expect("an answer is JSON");
        assert!(answer["error"].is_null(), "the server refuses: {answer}");
        answer
    }

    /// Removes a timer as every user can that may write to `subject`, a subject of the timer's
    /// stream: the server takes the message for the last one of a schedule.
    ///
    /// # Panics
    /// If the server does not answer.
    pub async fn remove_timer(&self, subject: String, timer: String) {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Scheduler", timer.as_str());
        headers.insert("Nats-Schedule-Next", "purge");
        let sent = self.client.request_with_headers(subject, headers, "{}".into()).await;
        sent.expect("the stream answers");
    }

    /// Stores bytes with their mark, with a `guard` only if the last message under its filter is at its position.
    /// Returns `None` if it is not.
    ///
    /// # Panics
    /// If the server does not answer, or refuses for another reason.
    pub async fn store(
        &self,
        subject: String,
        payload: impl Into<Bytes> + Send,
        guard: Option<(&str, Seq)>,
    ) -> Option<Seq> {
        let mut headers = HeaderMap::new();
        headers.insert("Callboard-Subject", subject.as_str());
        if let Some((filter, after)) = guard {
            headers.insert(header::NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, after.to_string().as_str());
            headers.insert("Nats-Expected-Last-Subject-Sequence-Subject", filter);
        }
        let sent = self.client.request_with_headers(subject, headers, payload.into()).await;
        let answer = sent.expect("the stream answers");
        let answer: Value = serde_json::from_slice(&answer.payload).expect("an answer is JSON");
        match (answer["seq"].as_u64(), answer["error"]["err_code"].as_u64()) {
            (Some(seq), None) => Some(Seq(seq)),
            // JetStream's two codes for a wrong last sequence.
            (_, Some(10071 | 10164)) => None,
            (_, other) => {
                assert!(other.is_none(), "the stream refuses: {answer}");
                None
            }
        }
    }
}
