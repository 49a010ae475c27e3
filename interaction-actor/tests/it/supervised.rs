//! The pools of people supervise the inbox actors.

use std::sync::Arc;

use async_trait::async_trait;
use broker::{
    kv::{Bucket, Change, Kv, KvError, Versioned},
    testing::wait::soon,
};
use bytes::Bytes;
use callboard_interaction_actor::{InteractionActor, options};
use futures::stream::BoxStream;
use proto::{
    decision::{Closed, Decision, Note},
    id::AskId,
};
use runtime::testing::RoleStage;
use tokio::sync::{Notify, mpsc};

/// A store in which one deletion panics, and others wait until they are released.
struct PanickingKv {
    inner: Arc<dyn Kv>,
    release: Notify,
    deleted: mpsc::UnboundedSender<String>,
}

#[async_trait]
impl Kv for PanickingKv {
    async fn get(&self, bucket: Bucket, key: &str) -> Result<Option<Versioned>, KvError> {
        self.inner.get(bucket, key).await
    }
    async fn put(&self, bucket: Bucket, key: &str, value: Bytes) -> Result<u64, KvError> {
        self.inner.put(bucket, key, value).await
    }
    async fn update(
        &self,
        bucket: Bucket,
        key: &str,
        value: Bytes,
        revision: u64,
    ) -> Result<u64, KvError> {
        self.inner.update(bucket, key, value, revision).await
    }
    async fn delete(&self, bucket: Bucket, key: &str) -> Result<(), KvError> {
        self.deleted.send(key.to_owned()).unwrap();
        assert!(!key.ends_with("panic"), "told to panic");
        self.release.notified().await;
        self.inner.delete(bucket, key).await?;
        self.deleted.send("released".to_owned()).unwrap();
        Ok(())
    }
    async fn delete_at(&self, bucket: Bucket, key: &str, revision: u64) -> Result<u64, KvError> {
        self.inner.delete_at(bucket, key, revision).await
    }
    async fn list(&self, bucket: Bucket, prefix: &str) -> Result<Vec<Versioned>, KvError> {
        self.inner.list(bucket, prefix).await
    }
    async fn watch(
        &self,
        bucket: Bucket,
    ) -> Result<BoxStream<'static, Result<Change, KvError>>, KvError> {
        self.inner.watch(bucket).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_ends_one_command_and_leaves_the_others() {
    let mut broker = RoleStage::broker(&[]).await;
    let (deleted, mut deletions) = mpsc::unbounded_channel();
    let inner = Arc::clone(&broker.kv);
    let kv = Arc::new(PanickingKv { inner, release: Notify::new(), deleted });
    broker.kv = Arc::clone(&kv) as Arc<dyn Kv>;
    let role = InteractionActor::new(broker.clone());
    let [_, notes] = options(4);
    let mut stage = RoleStage::start(broker, role, notes).await;
    let closed = |ask: &str| {
        let (ask, because) = (AskId::new(ask).unwrap(), Closed::JobEnded);
        Decision::Note(Note::QuestionClosed { ask, because, generation: Default::default() })
    };
    let mut next = async || soon("a deletion", deletions.recv()).await.unwrap();
    stage.decide(&closed("wait")).await;
    assert!(next().await.ends_with("wait"));
    stage.decide(&closed("panic")).await;
    // The command of the panicked actor is redelivered, and panics again.
    for _ in 0..2 {
        assert!(next().await.ends_with("panic"));
    }
    kv.release.notify_one();
    while next().await != "released" {}
}
