//! The tool registry, in which workers announce tools, and planners and executors find them.
//!
//! An announcement is JSON in the bucket [`Bucket::Tools`], under the tool's name: the fields of
//! [`proto::tool::ToolSpec`], and `by`, the worker that announced the tool. A worker in any
//! language may write an announcement. Every reader checks each announcement again, because its
//! writer need not have used [`announce`].

mod announce;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use broker::{
    Broker,
    kv::{Bucket, Change, KvError},
};
use futures::StreamExt;
use proto::{digest, id::ToolName};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use self::announce::read;
pub use self::announce::{
    ABOUT_BYTES_MAX, AnnounceError, Announced, Announcement, COMMANDS_MAX, CONCURRENCY_MAX,
    DESCRIPTION_BYTES_MAX, TIMEOUT_MS_MAX, TRANSLATIONS_MAX, VERSION_BYTES_MAX, announce, check,
    withdraw,
};

/// The maximum number of tools in a registry. Further tools are refused with a warning.
pub const TOOLS_MAX: usize = 2_000;
/// Wait before a watch that broke is opened again.
const REOPEN: Duration = Duration::from_millis(500);

/// An in-memory copy of the installation's tools, which follows the bucket. Clones share it.
#[derive(Debug, Clone)]
pub struct Registry {
    shared: Arc<Mutex<Shared>>,
    changed: watch::Receiver<u64>,
    _task: Arc<AbortOnDropHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    tools: BTreeMap<String, Arc<Announcement>>,
    refused: BTreeMap<String, String>,
    digest: Option<Arc<str>>,
}

impl Registry {
    /// Reads the registry and follows its changes.
    ///
    /// # Errors
    /// Returns an error if the bucket cannot be read. After later failures the registry reads the
    /// bucket again.
    pub async fn open(broker: &Broker) -> Result<Self, KvError> {
        let shared = Arc::new(Mutex::new(Shared::default()));
        let (said, changed) = watch::channel(0);
        let mut changes = broker.kv.watch(Bucket::Tools).await?;
        let mut found = Shared::default();
        loop {
            match changes.next().await {
                Some(Ok(Change::CaughtUp)) => break,
                Some(Ok(change)) => found.apply(change),
                Some(Err(error)) => return Err(error),
                None => return Err(KvError::Unavailable("the watch ended".to_owned())),
            }
        }
        *shared.lock().unwrap_or_else(PoisonError::into_inner) = found;
        let (kept, broker) = (Arc::clone(&shared), broker.clone());
        let task = tokio::spawn(async move {
            loop {
                while let Some(Ok(change)) = changes.next().await {
                    kept.lock().unwrap_or_else(PoisonError::into_inner).apply(change);
                    said.send_modify(|n| *n += 1);
                }
                // `reopen` warns when it fails too.
                tracing::debug!("the tool registry cannot be watched; reading it again");
                changes = reopen(&broker, &kept, &said).await;
            }
        });
        Ok(Self { shared, changed, _task: Arc::new(AbortOnDropHandle::new(task)) })
    }

    /// Returns the tool of that name; `None` when it has no usable announcement.
    #[must_use]
    pub fn get(&self, name: &ToolName) -> Option<Arc<Announcement>> {
        self.look(|shared| shared.tools.get(name.as_str()).cloned())
    }

    /// Reads one tool from the bucket itself. The copy in memory may be a little older.
    ///
    /// # Errors
    /// An error is returned when the bucket cannot be read.
    pub async fn read(broker: &Broker, name: &ToolName) -> Result<Option<Announcement>, KvError> {
        let stored = broker.kv.get(Bucket::Tools, name.as_str()).await?;
        let announced = stored.and_then(|stored| read(&stored.value).ok());
        Ok(announced.filter(|announced| announced.spec.name == *name))
    }

    /// Returns all tools, ordered by name.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Announcement>> {
        self.look(|shared| shared.tools.values().cloned().collect())
    }

    /// Returns the names of unusable announcements, each with the reason.
    #[must_use]
    pub fn refused(&self) -> Vec<(String, String)> {
        self.look(|shared| shared.refused.clone().into_iter().collect())
    }

    /// Returns a digest of all tools. It changes only with a tool's definition, not with its
    /// announcer.
    #[must_use]
    pub fn digest(&self) -> Arc<str> {
        self.look(Shared::digest)
    }

    /// Returns all tools, ordered by name, and their digest.
    #[must_use]
    pub fn all_with_digest(&self) -> (Vec<Arc<Announcement>>, Arc<str>) {
        self.look(|shared| (shared.tools.values().cloned().collect(), shared.digest()))
    }

    /// Returns a receiver that is notified of every change.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.changed.clone()
    }

    fn look<T>(&self, look: impl FnOnce(&mut Shared) -> T) -> T {
        look(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

type Changes = futures::stream::BoxStream<'static, Result<Change, KvError>>;

/// Reads the bucket again, with retries until that succeeds. Tools that vanished meanwhile are
/// dropped.
async fn reopen(broker: &Broker, kept: &Mutex<Shared>, said: &watch::Sender<u64>) -> Changes {
    loop {
        tokio::time::sleep(REOPEN).await;
        let mut changes = match broker.kv.watch(Bucket::Tools).await {
            Ok(changes) => changes,
            Err(error) => {
                tracing::warn!(%error, "the tool registry cannot be watched; retrying");
                continue;
            }
        };
        let mut found = Shared::default();
        while let Some(Ok(change)) = changes.next().await {
            if change == Change::CaughtUp {
                *kept.lock().unwrap_or_else(PoisonError::into_inner) = found;
                said.send_modify(|n| *n += 1);
                return changes;
            }
            found.apply(change);
        }
    }
}

impl Shared {
    fn apply(&mut self, change: Change) {
        self.digest = None;
        match change {
            Change::Put(put) => {
                self.tools.remove(&put.key);
                self.refused.remove(&put.key);
                match self.admit(&put.key, &put.value) {
                    Ok(tool) => {
                        self.tools.insert(put.key, Arc::new(tool));
                    }
                    Err(why) => {
                        tracing::warn!(tool = put.key, why, "a registered tool is ignored");
                        self.refuse(put.key, why);
                    }
                }
            }
            Change::Deleted(key) => {
                self.tools.remove(&key);
                self.refused.remove(&key);
            }
            Change::Foreign(key) => {
                self.tools.remove(&key);
                self.refuse(key, "a client made the server write the value".to_owned());
            }
            Change::CaughtUp => {}
        }
    }

    fn digest(&mut self) -> Arc<str> {
        let tools = &self.tools;
        let digest = self.digest.get_or_insert_with(|| {
            let specs: Vec<_> = tools.values().map(|a| &a.spec).collect();
            digest::of_json(&serde_json::to_value(specs).unwrap_or_default()).into()
        });
        Arc::clone(digest)
    }

    fn refuse(&mut self, key: String, why: String) {
        if self.refused.len() < TOOLS_MAX {
            self.refused.insert(key, why);
        }
    }

    fn admit(&self, key: &str, value: &[u8]) -> Result<Announcement, String> {
        if self.tools.len() >= TOOLS_MAX {
            return Err(format!("there are {TOOLS_MAX} tools already"));
        }
        let tool = read(value)?;
        if tool.spec.name.as_str() != key {
            return Err(format!("its name is {}, but its key is {key}", tool.spec.name));
        }
        Ok(tool)
    }
}

#[cfg(test)]
mod tests;
