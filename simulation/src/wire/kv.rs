//! The key-value store behind a link.

use std::sync::Arc;

use async_trait::async_trait;
use broker::kv::{Bucket, Change, Kv, KvError, Versioned};
use bytes::Bytes;
use futures::{StreamExt, stream::BoxStream};

use super::Wire;

pub(super) struct WiredKv {
    wire: Wire,
    inner: Arc<dyn Kv>,
}

impl WiredKv {
    pub(super) fn new(wire: Wire, inner: Arc<dyn Kv>) -> Self {
        Self { wire, inner }
    }
}

#[async_trait]
impl Kv for WiredKv {
    async fn get(&self, bucket: Bucket, key: &str) -> Result<Option<Versioned>, KvError> {
        self.wire.ask(self.inner.get(bucket, key)).await
    }

    async fn put(&self, bucket: Bucket, key: &str, value: Bytes) -> Result<u64, KvError> {
        let (inner, key) = (Arc::clone(&self.inner), key.to_owned());
        self.wire.write(async move { inner.put(bucket, &key, value).await }).await
    }

    async fn update(
        &self,
        bucket: Bucket,
        key: &str,
        value: Bytes,
        revision: u64,
    ) -> Result<u64, KvError> {
        let (inner, key) = (Arc::clone(&self.inner), key.to_owned());
        self.wire.write(async move { inner.update(bucket, &key, value, revision).await }).await
    }

    async fn delete(&self, bucket: Bucket, key: &str) -> Result<(), KvError> {
        let (inner, key) = (Arc::clone(&self.inner), key.to_owned());
        self.wire.write(async move { inner.delete(bucket, &key).await }).await
    }

    async fn delete_at(&self, bucket: Bucket, key: &str, revision: u64) -> Result<u64, KvError> {
        let (inner, key) = (Arc::clone(&self.inner), key.to_owned());
        self.wire.write(async move { inner.delete_at(bucket, &key, revision).await }).await
    }

    async fn list(&self, bucket: Bucket, prefix: &str) -> Result<Vec<Versioned>, KvError> {
        self.wire.ask(self.inner.list(bucket, prefix)).await
    }

    async fn watch(
        &self,
        bucket: Bucket,
    ) -> Result<BoxStream<'static, Result<Change, KvError>>, KvError> {
        let mut changes = self.wire.ask(self.inner.watch(bucket)).await?;
        let link = Arc::clone(&self.wire.link);
        Ok(Box::pin(async_stream::stream! {
            while let Some(change) = changes.next().await {
                link.hold().await;
                yield change;
            }
        }))
    }
}
