//! The object store behind a link.

use std::sync::Arc;

use async_trait::async_trait;
use broker::objects::{Kept, ObjectError, Objects};
use bytes::Bytes;

use super::{Lost, Wire};

pub(super) struct WiredObjects {
    wire: Wire,
    inner: Arc<dyn Objects>,
}

impl WiredObjects {
    pub(super) fn new(wire: Wire, inner: Arc<dyn Objects>) -> Self {
        Self { wire, inner }
    }
}

fn away(_: Lost) -> ObjectError {
    ObjectError::Unavailable("the link is down".to_owned())
}

#[async_trait]
impl Objects for WiredObjects {
    async fn put(&self, bytes: Bytes) -> Result<String, ObjectError> {
        let inner = Arc::clone(&self.inner);
        let call = Box::pin(async move { inner.put(bytes).await });
        self.wire.carry(true, call).await.map_err(away)?
    }

    async fn get(&self, sha256: &str) -> Result<Bytes, ObjectError> {
        let (inner, sha256) = (Arc::clone(&self.inner), sha256.to_owned());
        let call = Box::pin(async move { inner.get(&sha256).await });
        self.wire.carry(false, call).await.map_err(away)?
    }

    async fn list(&self) -> Result<Vec<Kept>, ObjectError> {
        let inner = Arc::clone(&self.inner);
        let call = Box::pin(async move { inner.list().await });
        self.wire.carry(false, call).await.map_err(away)?
    }

    async fn remove(&self, seen: &Kept) -> Result<(), ObjectError> {
        let (inner, seen) = (Arc::clone(&self.inner), seen.clone());
        let call = Box::pin(async move { inner.remove(&seen).await });
        self.wire.carry(true, call).await.map_err(away)?
    }
}
