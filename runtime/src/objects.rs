//! Large values, named by their SHA-256: what is too large to travel travels as a reference.

use async_trait::async_trait;
use bytes::Bytes;

/// An operation on the object store failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ObjectError {
    /// The broker cannot be reached.
    #[error("the object store cannot be reached: {0}")]
    Unavailable(String),
    /// There is no such object, or it is damaged.
    #[error("object {0} is missing or damaged")]
    Missing(String),
    /// There is no room.
    #[error("the object store is full: {0}")]
    Full(String),
}

/// Large values. Writing the same bytes twice stores them once.
#[async_trait]
pub trait Objects: Send + Sync + 'static {
    /// Stores bytes and gives their SHA-256 in lower-case hex. They are kept once this returns.
    async fn put(&self, bytes: Bytes) -> Result<String, ObjectError>;
    /// The bytes of that name, checked against it.
    async fn get(&self, sha256: &str) -> Result<Bytes, ObjectError>;
}
