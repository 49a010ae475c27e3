//! [`Objects`] on a stream: each value in pieces, named by the value's SHA-256.
//!
//! A piece is stored only if its subject is empty, so that writing a value twice stores it once. An
//! old value is rewritten piece by piece, with the same pieces: garbage collection removes only the
//! versions that it has listed. A value is checked against its name when it is read.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_nats::{HeaderMap, HeaderValue, header::NATS_EXPECTED_LAST_SUBJECT_SEQUENCE};
use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures::{StreamExt, TryStreamExt};
use jiff::SignedDuration;
use proto::{id::Seq, subject::Subjects};

use super::{
    NatsOptions,
    link::{AskError, Link},
    read::{self, Stored},
    removal,
    setup::{self, Missing},
};
use crate::{
    backoff::{Backoff, Retryable},
    log::LogError,
    objects::{Kept, ObjectError, Objects, is_name},
};

/// Size of one piece in bytes; half of a server's default limit.
const PIECE: usize = 512 * 1024;
/// Number of pieces written concurrently.
const AT_A_TIME: usize = 8;
/// Number of retries of a write.
const RETRIES: usize = 4;
/// Pause between two retries.
const BACKOFF: Backoff =
    Backoff::doubling(Duration::from_millis(200), Duration::from_millis(1_600));
/// Number of reads of an incomplete value before it counts as missing.
const LOOKS: u32 = 3;
/// Pause between two of these reads.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The object store over one connection.
#[derive(Debug)]
pub(super) struct NatsObjects {
    link: Arc<Link>,
    subjects: Subjects,
    replicas: u8,
    renewed_after: Duration,
    patience: Duration,
}

/// Creates or checks the stream.
pub(super) async fn ensure(
    link: &Link,
    subjects: &Subjects,
    options: &NatsOptions,
    missing: Missing,
) -> Result<(), LogError> {
    setup::stream(link, &stream_of_all(subjects, options), missing).await.map(|_| ())
}

/// The required configuration of the stream.
pub(super) fn stream_of_all(subjects: &Subjects, options: &NatsOptions) -> serde_json::Value {
    setup::plain_stream(&subjects.bucket("objects"), &[subjects.all_objects()], options)
}

impl NatsObjects {
    pub(super) fn new(link: Arc<Link>, subjects: Subjects, options: &NatsOptions) -> Self {
        let patience = Duration::from_millis(options.write_patience_ms);
        let renewed_after = options.objects_renewed_after();
        Self { link, subjects, replicas: options.replicas, renewed_after, patience }
    }

    fn stream(&self) -> String {
        self.subjects.bucket("objects")
    }

    /// Stores one piece; `false` if its subject was not empty.
    async fn put_piece(&self, name: &str, at: usize, piece: Bytes) -> Result<bool, AskError> {
        let mut headers = HeaderMap::new();
        headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, HeaderValue::from(0_u64));
        match self.link.write(&self.subjects.object_piece(name, at), headers, piece).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_conflict() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Cuts a value into pieces, at least one.
    fn pieces(&self, bytes: &Bytes) -> Vec<Bytes> {
        let size = PIECE.min(self.link.client.server_info().max_payload / 2).max(1);
        let count = bytes.len().div_ceil(size).max(1);
        (0..count).map(|at| bytes.slice(at * size..bytes.len().min((at + 1) * size))).collect()
    }

    /// Stores a value; `false` if some piece existed already and the value may be incomplete.
    async fn put_all(&self, name: &str, bytes: &Bytes) -> Result<bool, AskError> {
        let pieces = self.pieces(bytes).into_iter().enumerate();
        let put = pieces.map(|(at, piece)| self.put_piece(name, at, piece));
        let stored = futures::stream::iter(put).buffer_unordered(AT_A_TIME);
        stored.try_fold(true, |all, one| async move { Ok(all && one) }).await
    }

    /// Stores a value over pieces that do not form it. The pieces are replaced one by one, and
    /// those beyond the last are emptied: no role may purge a stream.
    async fn replace_all(&self, name: &str, bytes: &Bytes) -> Result<(), AskError> {
        let pieces = self.pieces(bytes);
        let there = self.stored(name).await?;
        let left = there.into_keys().filter(|at| *at >= pieces.len());
        let left: Vec<_> = left.map(|at| (at, Bytes::new())).collect();
        for (at, piece) in pieces.into_iter().enumerate().chain(left) {
            self.replace(name, at, piece).await?;
        }
        Ok(())
    }

    /// Stores one piece unconditionally.
    async fn replace(&self, name: &str, at: usize, piece: Bytes) -> Result<(), AskError> {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Rollup", "sub");
        self.link.write(&self.subjects.object_piece(name, at), headers, piece).await.map(|_| ())
    }

    /// Reads the stored pieces by index. A piece that is replaced meanwhile may be read twice; the
    /// later version wins.
    async fn stored(&self, name: &str) -> Result<BTreeMap<usize, Stored>, AskError> {
        let filter = self.subjects.object(name);
        let found = read::all(&self.link, &self.stream(), &filter, Seq(0), self.replicas).await?;
        Ok(found.into_iter().filter_map(|piece| Some((at(&piece.subject)?, piece))).collect())
    }

    /// Reads the value of this name, or `None` if it is incomplete. Incomplete pieces are read
    /// again: another writer may be replacing them.
    async fn whole(
        &self,
        name: &str,
    ) -> Result<Option<(BTreeMap<usize, Stored>, Bytes)>, AskError> {
        for look in 1..=LOOKS {
            let pieces = self.stored(name).await?;
            if pieces.is_empty() {
                return Ok(None);
            }
            let mut bytes = BytesMut::new();
            pieces.values().for_each(|piece| bytes.extend_from_slice(&piece.payload));
            let bytes = bytes.freeze();
            if proto::digest::of_bytes(&bytes) == name {
                return Ok(Some((pieces, bytes)));
            }
            if look < LOOKS {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        }
        Ok(None)
    }

    /// `true` if some piece is so old that garbage collection may have listed it.
    async fn are_old(&self, pieces: &BTreeMap<usize, Stored>) -> bool {
        // Only the server's time gives the age of a piece. A user without permission to read that
        // time rewrites too often.
        let Ok(now) = removal::server_time(&self.link, &self.stream()).await else { return true };
        let limit = SignedDuration::try_from(self.renewed_after).unwrap_or(SignedDuration::MAX);
        pieces.values().any(|piece| now.duration_since(piece.time) > limit)
    }

    async fn try_put(&self, name: &str, bytes: &Bytes) -> Result<(), AskError> {
        if self.put_all(name, bytes).await? {
            return Ok(());
        }
        match self.whole(name).await? {
            Some((pieces, _)) if !self.are_old(&pieces).await => return Ok(()),
            // The pieces stay the same, so a concurrent reader always finds the whole value.
            Some((pieces, _)) => {
                for (at, piece) in pieces {
                    self.replace(name, at, piece.payload).await?;
                }
            }
            // The pieces belong to no readable value, so replacing them loses nothing.
            None => self.replace_all(name, bytes).await?,
        }
        if self.whole(name).await?.is_some() {
            return Ok(());
        }
        Err(AskError::Lost(format!("{name} cannot be stored: others write in its place")))
    }
}

/// Parses the index of a piece from its subject.
fn at(subject: &str) -> Option<usize> {
    subject.rsplit('.').next().and_then(|n| n.parse().ok())
}

#[async_trait]
impl Objects for NatsObjects {
    async fn put(&self, bytes: Bytes) -> Result<String, ObjectError> {
        let name = proto::digest::of_bytes(&bytes);
        let stored = (|| self.try_put(&name, &bytes))
            .retry(BACKOFF.take(RETRIES))
            .when(AskError::is_transient)
            .await;
        match stored {
            Ok(()) => Ok(name),
            Err(AskError::Refused(refusal)) if refusal.is_full() => {
                Err(ObjectError::Full(refusal.to_string()))
            }
            Err(error) => Err(ObjectError::Unavailable(error.to_string())),
        }
    }

    async fn get(&self, sha256: &str) -> Result<Bytes, ObjectError> {
        if !is_name(sha256) {
            return Err(ObjectError::Missing(sha256.to_owned()));
        }
        match self.whole(sha256).await {
            Ok(Some((_, bytes))) => Ok(bytes),
            Ok(None) => Err(ObjectError::Missing(sha256.to_owned())),
            Err(error) => Err(ObjectError::Unavailable(error.to_string())),
        }
    }

    async fn list(&self) -> Result<Vec<Kept>, ObjectError> {
        let listed = removal::list(&self.link, &self.stream()).await;
        listed.map_err(|error| ObjectError::Unavailable(error.to_string()))
    }

    async fn remove(&self, seen: &Kept) -> Result<(), ObjectError> {
        if !is_name(&seen.sha256) {
            return Err(ObjectError::Missing(seen.sha256.clone()));
        }
        let (stream, filter) = (self.stream(), self.subjects.object(&seen.sha256));
        let until = Some(seen.until);
        let removed = removal::purge(&self.link, &stream, &filter, until, self.patience).await;
        removed.map(|_| ()).map_err(|error| ObjectError::Unavailable(error.to_string()))
    }
}
