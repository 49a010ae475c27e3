//! [`Kv`] on JetStream key-value buckets, so that any NATS tool can read them.
//!
//! A deleted key leaves a marker for watchers, which the server removes after a day.
//!
//! A value without its [mark] is not trusted: its key has no value. Watchers are notified, as the previous value may still be valid.

use std::sync::Arc;

use async_nats::{HeaderMap, HeaderValue, header::NATS_EXPECTED_LAST_SUBJECT_SEQUENCE};
use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, stream::BoxStream};
use proto::{id::Seq, subject::Subjects};
use serde_json::{Value, json};

use super::{
    NatsOptions,
    link::{AskError, Link, PubAck},
    mark,
    read::{self, Stored},
    setup::{self, Missing},
    tail::{self, Tail, WatchItem},
};
use crate::{
    kv::{Bucket, Change, Kv, KvError, Versioned},
    log::LogError,
};

/// The lifetime of a deletion marker.
const MARK_KEPT: &str = "24h";

/// The key-value store over one connection.
#[derive(Debug)]
pub(super) struct NatsKv {
    link: Arc<Link>,
    subjects: Subjects,
    replicas: u8,
}

/// Creates or checks the stream of a bucket. Returns `true` if it was created.
pub(super) async fn ensure(
    link: &Link,
    subjects: &Subjects,
    bucket: Bucket,
    options: &NatsOptions,
    missing: Missing,
) -> Result<bool, LogError> {
    setup::stream(link, &bucket_stream(subjects, bucket, options), missing).await
}

/// The required configuration of a bucket's stream.
pub(super) fn bucket_stream(subjects: &Subjects, bucket: Bucket, options: &NatsOptions) -> Value {
    let name = subjects.bucket(bucket.name());
    let mut wanted =
        setup::plain_stream(&format!("KV_{name}"), &[format!("$KV.{name}.>")], options);
    wanted["max_msgs_per_subject"] = json!(1);
    wanted["discard"] = json!("new");
    wanted["deny_delete"] = json!(true);
    wanted
}

impl NatsKv {
    pub(super) fn new(link: Arc<Link>, subjects: Subjects, options: &NatsOptions) -> Self {
        Self { link, subjects, replicas: options.replicas }
    }

    pub(super) fn stream(&self, bucket: Bucket) -> String {
        format!("KV_{}", self.subjects.bucket(bucket.name()))
    }

    fn subject(&self, bucket: Bucket, key: &str) -> String {
        format!("$KV.{}.{key}", self.subjects.bucket(bucket.name()))
    }

    /// Reads a value that may lack its mark; `true` if it has one.
    pub(super) async fn get_unmarked(
        &self,
        bucket: Bucket,
        key: &str,
    ) -> Result<Option<(Versioned, bool)>, KvError> {
        let last = self.last(bucket, key).await?.filter(|last| !is_deletion(last));
        Ok(last.map(|Stored { seq, payload, foreign, .. }| {
            (Versioned { key: key.to_owned(), value: payload, revision: seq.0 }, !foreign)
        }))
    }

    async fn write(
        &self,
        bucket: Bucket,
        key: &str,
        mut headers: HeaderMap,
        value: Bytes,
    ) -> Result<u64, KvError> {
        let subject = self.subject(bucket, key);
        mark::mark(&mut headers, &subject);
        match self.link.write(&subject, headers, value).await {
            Ok(PubAck { seq, .. }) => Ok(seq),
            Err(error) if error.is_conflict() => Err(KvError::Conflict(key.to_owned())),
            Err(error) => Err(failure(&error)),
        }
    }

    async fn last(&self, bucket: Bucket, key: &str) -> Result<Option<Stored>, KvError> {
        let (stream, subject) = (self.stream(bucket), self.subject(bucket, key));
        let found = read::last_at_leader(&self.link, &stream, &subject).await;
        found.map_err(|error| failure(&error))
    }

    /// Writes if the last write of the key, or of its deletion marker, is at `seq`, and determines
    /// the outcome: no error reply proves that the write was not stored.
    async fn compare_and_set(
        &self,
        bucket: Bucket,
        key: &str,
        value: Bytes,
        seq: u64,
    ) -> Result<u64, KvError> {
        let nonce = uuid::Uuid::now_v7().simple().to_string();
        let mut headers = HeaderMap::new();
        headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, HeaderValue::from(seq));
        headers.insert(NONCE, nonce.as_str());
        let mut tries = 0;
        loop {
            let error = match self.write(bucket, key, headers.clone(), value.clone()).await {
                Ok(revision) => return Ok(revision),
                Err(error) => error,
            };
            let last = self.last(bucket, key).await?;
            let written_by = last.as_ref().and_then(|last| last.headers.get(NONCE));
            if let (Some(last), Some(by)) = (&last, written_by)
                && by.as_str() == nonce
            {
                return Ok(last.seq.0);
            }
            let moved = last.map_or(0, |last| last.seq.0) != seq;
            tries += 1;
            if moved {
                return Err(KvError::Conflict(key.to_owned()));
            } else if tries == 3 {
                return Err(error);
            }
        }
    }
}

/// Header of a deletion marker that the server writes for a value that expired.
const SERVER_DELETION: &str = "Nats-Marker-Reason";
/// Header that identifies one write of a value.
const NONCE: &str = "Callboard-Write";

#[async_trait]
impl Kv for NatsKv {
    async fn get(&self, bucket: Bucket, key: &str) -> Result<Option<Versioned>, KvError> {
        check(key)?;
        Ok(self.last(bucket, key).await?.and_then(|last| match change(key.to_owned(), last) {
            Change::Put(versioned) => Some(versioned),
            Change::Deleted(_) | Change::Foreign(_) | Change::CaughtUp => None,
        }))
    }

    async fn put(&self, bucket: Bucket, key: &str, value: Bytes) -> Result<u64, KvError> {
        check(key)?;
        self.write(bucket, key, HeaderMap::new(), value).await
    }

    async fn update(
        &self,
        bucket: Bucket,
        key: &str,
        value: Bytes,
        revision: u64,
    ) -> Result<u64, KvError> {
        check(key)?;
        let result = self.compare_and_set(bucket, key, value.clone(), revision).await;
        if revision == 0
            && let Err(KvError::Conflict(_)) = &result
            && let Some(last) = self.last(bucket, key).await?
            && is_nothing(&last)
        {
            return self.compare_and_set(bucket, key, value, last.seq.0).await;
        }
        result
    }

    async fn delete(&self, bucket: Bucket, key: &str) -> Result<(), KvError> {
        check(key)?;
        if self.last(bucket, key).await?.is_none_or(|last| is_deletion(&last)) {
            return Ok(());
        }
        self.write(bucket, key, deletion(), Bytes::new()).await.map(|_| ())
    }

    async fn delete_at(&self, bucket: Bucket, key: &str, revision: u64) -> Result<u64, KvError> {
        check(key)?;
        let mut headers = deletion();
        headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, HeaderValue::from(revision));
        self.write(bucket, key, headers, Bytes::new()).await
    }

    async fn list(&self, bucket: Bucket, prefix: &str) -> Result<Vec<Versioned>, KvError> {
        let mut filters = vec![self.subject(bucket, ">")];
        if !prefix.is_empty() {
            check(prefix)?;
            filters =
                vec![self.subject(bucket, prefix), self.subject(bucket, &format!("{prefix}.>"))];
        }
        let stream = self.stream(bucket);
        let mut values = Vec::new();
        for filter in filters {
            let found = read::all(&self.link, &stream, &filter, Seq(0), self.replicas).await;
            for message in found.map_err(|error| failure(&error))? {
                let key = self.key(bucket, &message);
                if let Change::Put(versioned) = change(key, message) {
                    values.push(versioned);
                }
            }
        }
        values.sort_by_key(|value| value.revision);
        Ok(values)
    }

    async fn watch(
        &self,
        bucket: Bucket,
    ) -> Result<BoxStream<'static, Result<Change, KvError>>, KvError> {
        let all = self.subject(bucket, ">");
        let tail = Tail {
            stream: self.stream(bucket),
            filter: all.clone(),
            hints: vec![all],
            replicas: self.replicas,
        };
        let watched = tail::watch(Arc::clone(&self.link), tail, Seq(0)).await;
        let watched = watched.map_err(|error| failure(&error))?;
        let skip = self.subject(bucket, "").len();
        Ok(Box::pin(watched.map(move |watched| match watched {
            Ok(WatchItem::Message(message)) => {
                let key = message.subject.get(skip..).unwrap_or_default().to_owned();
                Ok(change(key, *message))
            }
            Ok(WatchItem::CaughtUp) => Ok(Change::CaughtUp),
            Err(error) => Err(failure(&error)),
        })))
    }
}

impl NatsKv {
    fn key(&self, bucket: Bucket, message: &Stored) -> String {
        let skip = self.subject(bucket, "").len();
        message.subject.get(skip..).unwrap_or_default().to_owned()
    }
}

/// Headers of a deletion marker.
fn deletion() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("KV-Operation", "PURGE");
    headers.insert("Nats-Rollup", "sub");
    headers.insert("Nats-TTL", MARK_KEPT);
    headers
}

fn is_deletion(message: &Stored) -> bool {
    message.headers.get("KV-Operation").is_some() || message.headers.get(SERVER_DELETION).is_some()
}

/// `true` if the server wrote this in its own name. Its own deletion markers are genuine.
fn is_foreign(message: &Stored) -> bool {
    message.foreign && message.headers.get(SERVER_DELETION).is_none()
}

/// `true` if this message leaves its key without a value.
fn is_nothing(message: &Stored) -> bool {
    is_foreign(message) || is_deletion(message)
}

fn change(key: String, message: Stored) -> Change {
    if is_foreign(&message) {
        let subject = &message.subject;
        tracing::error!(subject, seq = %message.seq, "a client made the server write a value; the value is ignored");
        return Change::Foreign(key);
    }
    if is_deletion(&message) {
        return Change::Deleted(key);
    }
    Change::Put(Versioned { key, value: message.payload, revision: message.seq.0 })
}

fn failure(error: &AskError) -> KvError {
    let permanent = match error {
        AskError::NoResponders(_) | AskError::Lost(_) | AskError::Malformed(_) => false,
        AskError::Denied(_) | AskError::TooLarge(_) => true,
        AskError::Refused(refusal) => !refusal.is_full() && refusal.code < 500,
    };
    if permanent {
        KvError::Refused(error.to_string())
    } else {
        KvError::Unavailable(error.to_string())
    }
}

fn check(key: &str) -> Result<(), KvError> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let token = |token: &str| !token.is_empty() && token.bytes().all(plain);
    if key.split('.').all(token) { Ok(()) } else { Err(KvError::InvalidKey(key.to_owned())) }
}
