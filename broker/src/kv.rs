//! Small shared values with compare-and-set: the tool registry, the inbox, the task list, the jobs
//! of conversations, agents, workflows, the hosts of sessions, the receivers of notifications.

use std::{fmt, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use proto::{
    id::{AskId, JobId},
    lang::Language,
    session::SessionKind,
};
use tokio::time::Instant;

use crate::backoff::{Backoff, Retryable};

messages::texts!(bucket);

/// A named set of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Bucket {
    /// Settings that the installation was created with.
    Installation,
    /// Registered tools, by name.
    Tools,
    /// Open questions, by `<job>.<question>`.
    Inbox,
    /// The built-in task list.
    Tasks,
    /// Jobs that may belong to a conversation, by the conversation's id.
    Conversations,
    /// Agents stored while the installation runs, by name, as YAML.
    Agents,
    /// Links to the answer pages of questions, by the SHA-256 of their secrets.
    Links,
    /// MCP servers and tools that a person trusts, by the server's name.
    Mcp,
    /// Workflows stored while the installation runs, by name, as YAML, and their versions, by
    /// `<name>.<version>`.
    Workflows,
    /// Hosts of jobs' sessions, by `<kind>.<job>`.
    Sessions,
    /// Receivers of the notifications of A2A tasks, by the job.
    Receivers,
}

impl Bucket {
    /// All buckets.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// The bucket's name, which follows the installation's prefix.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The loss of a user when the bucket is lost. No bucket holds a job.
    #[must_use]
    pub fn loss(self, language: Language) -> String {
        let text = match self {
            Self::Installation => Text::Installation,
            Self::Tools => Text::Tools,
            Self::Inbox => Text::Inbox,
            Self::Tasks => Text::Tasks,
            Self::Conversations => Text::Conversations,
            Self::Agents => Text::Agents,
            Self::Links => Text::Links,
            Self::Mcp => Text::Mcp,
            Self::Workflows => Text::Workflows,
            Self::Sessions => Text::Sessions,
            Self::Receivers => Text::Receivers,
        };
        text.text(language)
    }
}

/// Key of the inbox that states that every open question was entered since the bucket was created,
/// but for those of the lost shards that it names.
pub const INBOX_COMPLETE: &str = "_.complete";

/// Builds the inbox key of a question.
#[must_use]
pub fn inbox_key(job: &JobId, ask: &AskId) -> String {
    format!("{job}.{ask}")
}

/// Parses an inbox key; `None` if it is [`INBOX_COMPLETE`] or malformed.
#[must_use]
pub fn inbox_question(key: &str) -> Option<(JobId, AskId)> {
    let (job, ask) = key.split_once('.').filter(|_| key != INBOX_COMPLETE)?;
    Some((JobId::new(job).ok()?, AskId::new(ask).ok()?))
}

/// Builds the key of a job's session.
#[must_use]
pub fn session_key(kind: SessionKind, job: &JobId) -> String {
    format!("{kind}.{job}")
}

/// Parses the key of a session of this kind; `None` if it is malformed.
#[must_use]
pub fn session_job(kind: SessionKind, key: &str) -> Option<JobId> {
    JobId::new(key.strip_prefix(kind.as_str())?.strip_prefix('.')?).ok()
}

/// A stored value and its revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned {
    /// The value's key.
    pub key: String,
    /// The stored bytes.
    pub value: Bytes,
    /// Revision of the bucket at this write; the argument of a compare-and-set.
    pub revision: u64,
}

/// A change of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A value was written.
    Put(Versioned),
    /// A key was deleted.
    Deleted(String),
    /// A sender without permission caused the server to write under this key, which therefore has
    /// no value.
    Foreign(String),
    /// Every value older than the watch has been delivered.
    CaughtUp,
}

/// A failed operation on a bucket.
#[derive(Debug, Clone, thiserror::Error)]
pub enum KvError {
    /// The broker is unreachable.
    #[error("the key-value store cannot be reached: {0}")]
    Unavailable(String),
    /// The key contains characters that are not allowed.
    #[error("{0:?} is not a key")]
    InvalidKey(String),
    /// The server refused the request: a right or the bucket is missing, or a bound is exceeded.
    #[error("the key-value store refused: {0}")]
    Refused(String),
    /// The key's revision is no longer the expected one.
    #[error("another writer changed {0} first")]
    Conflict(String),
}

impl KvError {
    /// Returns whether the same request may succeed later.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

/// The time for which a starting process waits for a store that does not answer: a cluster that
/// elects a leader answers within it.
const START_PATIENCE: Duration = Duration::from_secs(30);

/// Repeats a request of a starting process while it fails because the store cannot be reached. No
/// attempt begins after 30 s.
///
/// # Errors
/// The last error of the request.
pub async fn reach<T, E: fmt::Display, F: Future<Output = Result<T, E>>>(
    request: impl FnMut() -> F,
    is_unavailable: impl Fn(&E) -> bool,
) -> Result<T, E> {
    let start = Instant::now();
    request
        .retry(Backoff::doubling(Duration::from_millis(100), Duration::from_secs(2)))
        .when(|error| is_unavailable(error) && start.elapsed() < START_PATIENCE)
        .notify(
            |error, _| tracing::warn!(%error, "waiting for the key-value store before the start"),
        )
        .await
}

/// Small shared values in buckets. Keys are tokens of `[A-Za-z0-9_-]`, joined by dots.
#[async_trait]
pub trait Kv: Send + Sync + 'static {
    /// Returns the value of a key, or `None` if it has none.
    async fn get(&self, bucket: Bucket, key: &str) -> Result<Option<Versioned>, KvError>;
    /// Writes a value unconditionally and returns its revision.
    async fn put(&self, bucket: Bucket, key: &str, value: Bytes) -> Result<u64, KvError>;
    /// Writes a value if the key's revision is still `revision` (0: the key must not exist), and
    /// returns the new revision. Of several writers with the same `revision`, exactly one succeeds;
    /// the others get [`KvError::Conflict`].
    async fn update(
        &self,
        bucket: Bucket,
        key: &str,
        value: Bytes,
        revision: u64,
    ) -> Result<u64, KvError>;
    /// Deletes a key. A missing key is no error.
    async fn delete(&self, bucket: Bucket, key: &str) -> Result<(), KvError>;
    /// Deletes a key if its revision is still `revision`, and returns the revision of the deletion.
    /// After a lost reply it may report a conflict for its own deletion.
    async fn delete_at(&self, bucket: Bucket, key: &str, revision: u64) -> Result<u64, KvError>;
    /// Returns all values whose key begins with `prefix` (whole tokens; empty for all), oldest
    /// change first.
    async fn list(&self, bucket: Bucket, prefix: &str) -> Result<Vec<Versioned>, KvError>;
    /// Streams all values and then every change, without a gap.
    async fn watch(
        &self,
        bucket: Bucket,
    ) -> Result<BoxStream<'static, Result<Change, KvError>>, KvError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_starting_process_waits_for_a_store_that_does_not_answer() {
        let mut answers = [unavailable(), unavailable(), Ok(7)].into_iter();
        let request = || std::future::ready(answers.next().expect("it succeeds the third time"));
        assert_eq!(reach(request, KvError::is_unavailable).await.ok(), Some(7));
    }

    #[tokio::test(start_paused = true)]
    async fn a_starting_process_does_not_wait_for_ever() {
        let start = Instant::now();
        let failed = reach(|| std::future::ready(unavailable()), KvError::is_unavailable).await;
        assert!(failed.is_err_and(|error| error.is_unavailable()));
        assert!(start.elapsed() >= START_PATIENCE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_not_requested_again() {
        let mut requests = 0;
        let refused: Result<(), _> = reach(
            || {
                requests += 1;
                std::future::ready(Err(KvError::InvalidKey("a key".to_owned())))
            },
            KvError::is_unavailable,
        )
        .await;
        assert!(refused.is_err());
        assert_eq!(requests, 1);
    }

    fn unavailable() -> Result<u32, KvError> {
        Err(KvError::Unavailable("no leader".to_owned()))
    }
}
