//! [`Kv`] in memory.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use tokio::sync::mpsc::{self, UnboundedSender};

use super::{Call, Faults};
use crate::kv::{Bucket, Change, Kv, KvError, Versioned};

#[derive(Debug)]
pub(super) struct MemoryKv {
    faults: Arc<Faults>,
    buckets: Mutex<HashMap<Bucket, Values>>,
}

#[derive(Debug, Default)]
struct Values {
    revision: u64,
    by_key: BTreeMap<String, Versioned>,
    watchers: Vec<UnboundedSender<Change>>,
}

impl Values {
    fn write(&mut self, key: &str, value: Bytes) -> u64 {
        self.revision += 1;
        let versioned = Versioned { key: key.to_owned(), value, revision: self.revision };
        self.by_key.insert(key.to_owned(), versioned.clone());
        self.tell(&Change::Put(versioned));
        self.revision
    }

    fn tell(&mut self, change: &Change) {
        self.watchers.retain(|watcher| watcher.send(change.clone()).is_ok());
    }

    fn oldest_first(&self) -> Vec<Versioned> {
        let mut values: Vec<_> = self.by_key.values().cloned().collect();
        values.sort_by_key(|value| value.revision);
        values
    }
}

impl MemoryKv {
    pub(super) fn new(faults: Arc<Faults>) -> Self {
        Self { faults, buckets: Mutex::default() }
    }

    async fn reach(&self) -> Result<MutexGuard<'_, HashMap<Bucket, Values>>, KvError> {
        tokio::task::yield_now().await;
        match self.faults.failure(Call::Kv) {
            Some(error) => Err(KvError::Unavailable(error.to_string())),
            None => Ok(self.buckets.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }
}

#[async_trait]
impl Kv for MemoryKv {
    async fn get(&self, bucket: Bucket, key: &str) -> Result<Option<Versioned>, KvError> {
        check(key)?;
        let buckets = self.reach().await?;
        Ok(buckets.get(&bucket).and_then(|values| values.by_key.get(key).cloned()))
    }

    async fn put(&self, bucket: Bucket, key: &str, value: Bytes) -> Result<u64, KvError> {
        check(key)?;
        Ok(self.reach().await?.entry(bucket).or_default().write(key, value))
    }

    async fn update(
        &self,
        bucket: Bucket,
        key: &str,
        value: Bytes,
        revision: u64,
    ) -> Result<u64, KvError> {
        check(key)?;
        let mut buckets = self.reach().await?;
        let values = buckets.entry(bucket).or_default();
        if values.by_key.get(key).map_or(0, |v| v.revision) != revision {
            return Err(KvError::Conflict(key.to_owned()));
        }
        Ok(values.write(key, value))
    }

    async fn delete(&self, bucket: Bucket, key: &str) -> Result<(), KvError> {
        check(key)?;
        let mut buckets = self.reach().await?;
        let values = buckets.entry(bucket).or_default();
        if values.by_key.remove(key).is_some() {
            values.revision += 1;
            values.tell(&Change::Deleted(key.to_owned()));
        }
        Ok(())
    }

    async fn delete_at(&self, bucket: Bucket, key: &str, revision: u64) -> Result<u64, KvError> {
        check(key)?;
        let mut buckets = self.reach().await?;
        let values = buckets.entry(bucket).or_default();
        if values.by_key.get(key).map(|v| v.revision) != Some(revision) {
            return Err(KvError::Conflict(key.to_owned()));
        }
        values.by_key.remove(key);
        values.revision += 1;
        values.tell(&Change::Deleted(key.to_owned()));
        Ok(values.revision)
    }

    async fn list(&self, bucket: Bucket, prefix: &str) -> Result<Vec<Versioned>, KvError> {
        if !prefix.is_empty() {
            check(prefix)?;
        }
        let below = |key: &str| {
            key.strip_prefix(prefix)
                .is_some_and(|rest| prefix.is_empty() || rest.is_empty() || rest.starts_with('.'))
        };
        let buckets = self.reach().await?;
        let mut values = buckets.get(&bucket).map(Values::oldest_first).unwrap_or_default();
        values.retain(|value| below(&value.key));
        Ok(values)
    }

    async fn watch(
        &self,
        bucket: Bucket,
    ) -> Result<BoxStream<'static, Result<Change, KvError>>, KvError> {
        let (sender, mut changes) = mpsc::unbounded_channel();
        let before = {
            let mut buckets = self.reach().await?;
            let values = buckets.entry(bucket).or_default();
            values.watchers.push(sender);
            values.oldest_first()
        };
        Ok(Box::pin(async_stream::stream! {
            for value in before {
                yield Ok(Change::Put(value));
            }
            yield Ok(Change::CaughtUp);
            while let Some(change) = changes.recv().await {
                yield Ok(change);
            }
        }))
    }
}

fn check(key: &str) -> Result<(), KvError> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let token = |token: &str| !token.is_empty() && token.bytes().all(plain);
    if key.split('.').all(token) { Ok(()) } else { Err(KvError::InvalidKey(key.to_owned())) }
}
