//! The key-value store behind a link.

use std::sync::Arc;

use async_trait::async_trait;
use broker::kv::{Bucket, Change, Kv, KvError, Versioned};
use bytes::Bytes;
use futures::{StreamExt, stream::BoxStream};

use super::{Lost, Wire};

pub(super) struct WiredKv {
    wire: Wire,
    inner: Arc<dyn Kv>,
}

impl WiredKv {
    pub(super) fn new(wire: Wire, inner: Arc<dyn Kv>) -> Self {
        Self { wire, inner }
    }
}

fn away(_: Lost) -> KvError {
    KvError::Unavailable("the link is down".to_owned())
}

#[async_trait]
impl Kv for WiredKv {
    async fn get(&self, bucket: Bucket, key: &str) -> Result<Option<Versioned>, KvError> {
        let (inner, key) = (Arc::clone(&self.inner), key.to_owned());
        let call = Box::pin(async move { inner.get(bucket, &key).await });
        self.wire.carry(false, call).await.map_err(away)?
    }

    async fn put(&self, bucket: Bucket, key: &str, value: Bytes) -> Result<u64, KvError> {
        let (inner, key) = (Arc::clone(&self.inner), key.to_owned());
        let call = Box::pin(async move { inner.put(bucket, &key, value).await });
        self.wire.carry(true, call).await.map_err(away)?
    }

    async fn update(
        &self,
        bucket: Bucket,
        key: &str,
        value: Bytes,
        revision: u64,
    ) -> Result<u64, KvError> {
        let (inner, key) = (Arc::clone(&self.inner), key.to_owned());
        let call = Box::pin(async move { inner.update(bucket, &key, value, revision).await });
        self.wire.carry(true, call).await.map_err(away)?
    }

    async fn delete(&self, bucket: Bucket, key: &str) -> Result<(), KvError> {
        let (inner, key) = (Arc::clone(&self.inner), key.to_owned());
        let call = Box::pin(async move { inner.delete(bucket, &key).await });
        self.wire.carry(true, call).await.map_err(away)?
    }

    async fn delete_at(&self, bucket: Bucket, key: &str, revision: u64) -> Result<(), KvError> {
        let (inner, key) = (Arc::clone(&self.inner), key.to_owned());
        let call = Box::pin(async move { inner.delete_at(bucket, &key, revision).await });
        self.wire.carry(true, call).await.map_err(away)?
    }

    async fn list(&self, bucket: Bucket, prefix: &str) -> Result<Vec<Versioned>, KvError> {
        let (inner, prefix) = (Arc::clone(&self.inner), prefix.to_owned());
        let call = Box::pin(async move { inner.list(bucket, &prefix).await });
        self.wire.carry(false, call).await.map_err(away)?
    }

    async fn watch(
        &self,
        bucket: Bucket,
    ) -> Result<BoxStream<'static, Result<Change, KvError>>, KvError> {
        let inner = Arc::clone(&self.inner);
        let call = Box::pin(async move { inner.watch(bucket).await });
        let mut changes = self.wire.carry(false, call).await.map_err(away)??;
        let link = Arc::clone(&self.wire.link);
        Ok(Box::pin(async_stream::stream! {
            while let Some(change) = changes.next().await {
                link.hold().await;
                yield change;
            }
        }))
    }
}
