//! [`Objects`] on a stream: each value in pieces, named by its SHA-256.
//!
//! A piece is only stored when there is none in its place, so that writing twice stores once and
//! nobody can replace a value. What is read is checked against its name.

use std::{sync::Arc, time::Duration};

use async_nats::{HeaderMap, HeaderValue, header::NATS_EXPECTED_LAST_SUBJECT_SEQUENCE};
use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures::{StreamExt, TryStreamExt};
use proto::{id::Seq, subject::Subjects};

use super::{
    NatsOptions,
    link::{Link, Trouble},
    read,
    setup::{self, Missing},
};
use crate::{
    log::LogError,
    objects::{ObjectError, Objects},
};

/// Bytes of one piece; half of what a server takes by default.
const PIECE: usize = 512 * 1024;
/// Pieces that are on their way at a time.
const AT_A_TIME: usize = 8;
/// How often a value is tried to be written.
const TRIES: u32 = 5;

/// The object store.
#[derive(Debug)]
pub(super) struct NatsObjects {
    link: Arc<Link>,
    subjects: Subjects,
    replicas: u8,
}

/// Makes or checks the stream.
pub(super) async fn ensure(
    link: &Link,
    subjects: &Subjects,
    options: &NatsOptions,
    missing: Missing,
) -> Result<(), LogError> {
    setup::stream(link, &stream_of_all(subjects, options), missing).await
}

/// The stream, as it must be.
pub(super) fn stream_of_all(subjects: &Subjects, options: &NatsOptions) -> serde_json::Value {
    setup::plain_stream(&subjects.bucket("objects"), &[subjects.all_objects()], options)
}

impl NatsObjects {
    pub(super) fn new(link: Arc<Link>, subjects: Subjects, options: &NatsOptions) -> Self {
        Self { link, subjects, replicas: options.replicas }
    }

    fn stream(&self) -> String {
        self.subjects.bucket("objects")
    }

    /// Stores one piece; false when something was in its place.
    async fn put_piece(&self, name: &str, at: usize, piece: Bytes) -> Result<bool, Trouble> {
        let mut headers = HeaderMap::new();
        headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, HeaderValue::from(0_u64));
        match self.link.write(&self.subjects.object_piece(name, at), headers, piece).await {
            Ok(_) => Ok(true),
            Err(trouble) if trouble.is_conflict() => Ok(false),
            Err(trouble) => Err(trouble),
        }
    }

    /// The pieces of a value; one at least.
    fn pieces(&self, bytes: &Bytes) -> Vec<Bytes> {
        let size = PIECE.min(self.link.client.server_info().max_payload / 2).max(1);
        let count = bytes.len().div_ceil(size).max(1);
        (0..count).map(|at| bytes.slice(at * size..bytes.len().min((at + 1) * size))).collect()
    }

    /// Stores a value; whether it is certainly whole.
    async fn put_all(&self, name: &str, bytes: &Bytes) -> Result<bool, Trouble> {
        let pieces = self.pieces(bytes).into_iter().enumerate();
        let put = pieces.map(|(at, piece)| self.put_piece(name, at, piece));
        let stored = futures::stream::iter(put).buffer_unordered(AT_A_TIME);
        stored.try_fold(true, |all, one| async move { Ok(all && one) }).await
    }

    /// Stores a value in place of pieces that make no value of its name. They are replaced one by one,
    /// and what is left behind the last is made empty: to purge a stream is a right that no role has.
    async fn replace_all(&self, name: &str, bytes: &Bytes) -> Result<(), Trouble> {
        let pieces = self.pieces(bytes);
        let filter = self.subjects.object(name);
        let there = read::all(&self.link, &self.stream(), &filter, Seq(0), self.replicas).await?;
        let left = there.iter().filter_map(|message| at(&message.subject));
        let left: Vec<_> =
            left.filter(|at| *at >= pieces.len()).map(|at| (at, Bytes::new())).collect();
        for (at, piece) in pieces.into_iter().enumerate().chain(left) {
            let mut headers = HeaderMap::new();
            headers.insert("Nats-Rollup", "sub");
            self.link.write(&self.subjects.object_piece(name, at), headers, piece).await?;
        }
        Ok(())
    }

    async fn get_all(&self, name: &str) -> Result<Option<Bytes>, Trouble> {
        let filter = self.subjects.object(name);
        let found = read::all(&self.link, &self.stream(), &filter, Seq(0), self.replicas).await?;
        let mut pieces: Vec<_> =
            found.into_iter().filter_map(|m| Some((at(&m.subject)?, m.payload))).collect();
        pieces.sort_by_key(|(at, _)| *at);
        let mut bytes = BytesMut::new();
        pieces.iter().for_each(|(_, piece)| bytes.extend_from_slice(piece));
        let bytes = bytes.freeze();
        Ok((proto::digest::of_bytes(&bytes) == name).then_some(bytes))
    }

    async fn try_put(&self, name: &str, bytes: &Bytes) -> Result<(), Trouble> {
        if self.put_all(name, bytes).await? || self.get_all(name).await?.is_some() {
            return Ok(());
        }
        // Pieces of something else, or of another size, are in its place: nothing that could be
        // read is lost with them.
        self.replace_all(name, bytes).await?;
        if self.get_all(name).await?.is_some() {
            return Ok(());
        }
        Err(Trouble::Lost(format!("{name} cannot be stored: others write in its place")))
    }
}

/// The place of a piece, by its subject.
fn at(subject: &str) -> Option<usize> {
    subject.rsplit('.').next().and_then(|n| n.parse().ok())
}

#[async_trait]
impl Objects for NatsObjects {
    async fn put(&self, bytes: Bytes) -> Result<String, ObjectError> {
        let name = proto::digest::of_bytes(&bytes);
        let mut tries = 1;
        loop {
            match self.try_put(&name, &bytes).await {
                Ok(()) => return Ok(name),
                Err(Trouble::Lost(_) | Trouble::NoResponders(_)) if tries < TRIES => tries += 1,
                Err(Trouble::Refused(refusal)) if refusal.is_full() => {
                    return Err(ObjectError::Full(refusal.to_string()));
                }
                Err(trouble) => return Err(ObjectError::Unavailable(trouble.to_string())),
            }
            tokio::time::sleep(Duration::from_millis(50) * 2_u32.pow(tries)).await;
        }
    }

    async fn get(&self, sha256: &str) -> Result<Bytes, ObjectError> {
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if sha256.len() != 64 || !sha256.bytes().all(hex) {
            return Err(ObjectError::Missing(sha256.to_owned()));
        }
        match self.get_all(sha256).await {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(ObjectError::Missing(sha256.to_owned())),
            Err(trouble) => Err(ObjectError::Unavailable(trouble.to_string())),
        }
    }
}
