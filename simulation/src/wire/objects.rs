//! The object store behind a link.

use std::sync::Arc;

use async_trait::async_trait;
use broker::objects::{Kept, ObjectError, Objects};
use bytes::Bytes;

use super::Wire;

pub(super) struct WiredObjects {
    wire: Wire,
    inner: Arc<dyn Objects>,
}

impl WiredObjects {
    pub(super) fn new(wire: Wire, inner: Arc<dyn Objects>) -> Self {
        Self { wire, inner }
    }
}

#[async_trait]
impl Objects for WiredObjects {
    async fn put(&self, bytes: Bytes) -> Result<String, ObjectError> {
        let inner = Arc::clone(&self.inner);
        self.wire.write(async move { inner.put(bytes).await }).await
    }

    async fn get(&self, sha256: &str) -> Result<Bytes, ObjectError> {
        self.wire.ask(self.inner.get(sha256)).await
    }

    async fn list(&self) -> Result<Vec<Kept>, ObjectError> {
        self.wire.ask(self.inner.list()).await
    }

    async fn remove(&self, seen: &Kept) -> Result<(), ObjectError> {
        let (inner, seen) = (Arc::clone(&self.inner), seen.clone());
        self.wire.write(async move { inner.remove(&seen).await }).await
    }
}
