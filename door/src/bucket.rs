//! The values of a bucket in memory, which follow the bucket while the process runs.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use broker::{
    Broker,
    kv::{Bucket, Change, KvError, Versioned},
};
use futures::{StreamExt, stream::BoxStream};
use proto::error::{Code, Failure};
use tokio_util::task::AbortOnDropHandle;

/// Wait before a broken watch is opened again.
const REOPEN: Duration = Duration::from_millis(500);

/// Returns `true` if the value that a bucket has is the one that the author of a change saw. Revision 0
/// stands for a key without a value.
pub(crate) fn is_expected(expected: Option<u64>, found: Option<&Versioned>) -> bool {
    let revision = found.map_or(0, |found| found.revision);
    expected.is_none_or(|expected| expected == revision)
}

/// Values that are read from a bucket.
pub(crate) trait Kept: Send + 'static {
    /// The bucket.
    const BUCKET: Bucket;

    /// Returns `true` for a key whose value is not kept in memory.
    fn passes_over(_key: &str) -> bool {
        false
    }

    /// Replaces all values of the bucket. There is one change for each key, never
    /// [`Change::CaughtUp`].
    fn fill(&mut self, present: Vec<Change>);

    /// Applies a later change.
    fn apply(&mut self, change: Change);
}

/// Values of a bucket, kept current in memory. Cheap to clone.
#[derive(Debug)]
pub(crate) struct Followed<T> {
    shared: Arc<Mutex<T>>,
    _task: Option<Arc<AbortOnDropHandle<()>>>,
}

impl<T> Clone for Followed<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), _task: self._task.clone() }
    }
}

impl<T> Followed<T> {
    /// Returns values that follow no bucket.
    pub(crate) fn fixed(kept: T) -> Self {
        Self { shared: Arc::new(Mutex::new(kept)), _task: None }
    }

    /// Calls `look` with the values.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.shared.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Calls `change` with the values. The bucket does not see the change.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        change(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T: Kept> Followed<T> {
    /// Reads the bucket into `kept`, and follows it from then on.
    ///
    /// # Errors
    /// Returns an error if the bucket cannot be read at first. Later failures lead to a new read.
    pub(crate) async fn open(broker: &Broker, mut kept: T) -> Result<Self, KvError> {
        let mut changes = broker.kv.watch(T::BUCKET).await?;
        kept.fill(until_caught_up::<T>(&mut changes).await?);
        let shared = Arc::new(Mutex::new(kept));
        let followed = Self { shared: Arc::clone(&shared), _task: None };
        let broker = broker.clone();
        let task = tokio::spawn(async move {
            loop {
                while let Some(Ok(change)) = changes.next().await {
                    followed.change(|kept| kept.apply(change));
                }
                let bucket = T::BUCKET.name();
                tracing::debug!(bucket, "a bucket cannot be watched; reading it again");
                changes = followed.reopen(&broker).await;
            }
        });
        Ok(Self { shared, _task: Some(Arc::new(AbortOnDropHandle::new(task))) })
    }

    /// Reads the whole bucket again, with retries. Values that were deleted meanwhile are dropped.
    async fn reopen(&self, broker: &Broker) -> Changes {
        loop {
            tokio::time::sleep(REOPEN).await;
            let opened = match broker.kv.watch(T::BUCKET).await {
                Ok(mut changes) => match until_caught_up::<T>(&mut changes).await {
                    Ok(present) => {
                        self.change(|kept| kept.fill(present));
                        return changes;
                    }
                    Err(error) => error,
                },
                Err(error) => error,
            };
            let bucket = T::BUCKET.name();
            tracing::warn!(bucket, error = %opened, "a bucket cannot be watched; retrying");
        }
    }
}

type Changes = BoxStream<'static, Result<Change, KvError>>;

/// Returns the last change of every key that was present when the watch began and is kept.
async fn until_caught_up<T: Kept>(changes: &mut Changes) -> Result<Vec<Change>, KvError> {
    let mut present: BTreeMap<String, Change> = BTreeMap::new();
    loop {
        let (key, change) = match changes.next().await {
            Some(Ok(Change::CaughtUp)) => return Ok(present.into_values().collect()),
            Some(Ok(Change::Deleted(key))) => {
                present.remove(&key);
                continue;
            }
            Some(Ok(Change::Put(put))) if T::passes_over(&put.key) => continue,
            Some(Ok(Change::Put(put))) => (put.key.clone(), Change::Put(put)),
            Some(Ok(Change::Foreign(key))) => (key.clone(), Change::Foreign(key)),
            Some(Err(error)) => return Err(error),
            None => return Err(KvError::Unavailable("the watch ended".to_owned())),
        };
        present.insert(key, change);
    }
}

/// Returns the failure of a request whose bucket did not answer.
#[expect(clippy::needless_pass_by_value, reason = "it is what map_err hands out")]
pub(crate) fn unavailable(error: KvError) -> Failure {
    Failure::new(Code::Unavailable, error.to_string())
}
