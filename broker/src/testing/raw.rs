//! A writer of raw bytes, as another release of Callboard or a foreign program would write them.
//! Nothing that runs jobs may use it: it checks nothing it writes.

use async_nats::{Client, HeaderMap, header};
use bytes::Bytes;
use proto::id::Seq;
use serde_json::Value;

/// A connection that stores bytes on subjects of a stream.
#[derive(Debug, Clone)]
pub struct RawWriter {
    client: Client,
}

impl RawWriter {
    /// Connects.
    ///
    /// # Panics
    /// When nobody is there.
    pub async fn connect(url: &str) -> Self {
        Self { client: async_nats::connect(url).await.expect("a server can be reached") }
    }

    /// Stores bytes, only if the last message under `guard`'s filter is at its position. Nothing when
    /// it is not.
    ///
    /// # Panics
    /// When the server does not answer, or refuses for another reason.
    pub async fn store(
        &self,
        subject: String,
        payload: impl Into<Bytes> + Send,
        guard: Option<(&str, Seq)>,
    ) -> Option<Seq> {
        let mut headers = HeaderMap::new();
        if let Some((filter, after)) = guard {
            headers.insert(header::NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, after.to_string().as_str());
            headers.insert("Nats-Expected-Last-Subject-Sequence-Subject", filter);
        }
        let sent = self.client.request_with_headers(subject, headers, payload.into()).await;
        let answer = sent.expect("the stream answers");
        let answer: Value = serde_json::from_slice(&answer.payload).expect("an answer is JSON");
        match (answer["seq"].as_u64(), answer["error"]["err_code"].as_u64()) {
            (Some(seq), None) => Some(Seq(seq)),
            // The last sequence is another one.
            (_, Some(10071 | 10164)) => None,
            (_, other) => {
                assert!(other.is_none(), "the stream refuses: {answer}");
                None
            }
        }
    }
}
