//! The built-in task list, shared by all workers through key-value storage.
//!
//! The storage has one key per task (`task.<id>`), one for the last allocated id (`counter`), and
//! one per creation (`made.<key>`). Every write is a compare-and-set. A change and its idempotency
//! key are stored in the same write, so a repeat returns the first result and changes nothing. A
//! deleted task leaves a marker, so that a late repeat of its creation does not restore it.

use std::sync::Arc;

use broker::kv::{Bucket, Kv, KvError, Versioned};
use bytes::Bytes;
pub use proto::task::{Fields, Status, Task};
use proto::{digest, tool::ToolResult};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Number of retries of a change after concurrent writes to the same key.
const CONFLICTS_MAX: usize = 64;

/// Number of idempotency keys that a task remembers. A repeat that is older than that many changes
/// of its task would be applied again; repeats occur within minutes, by a redelivery or another
/// attempt.
const REMEMBERED_MAX: usize = 128;

/// The stored form of a task.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    task: Task,
    /// The latest changes, newest last.
    #[serde(default)]
    changes: Vec<Applied>,
}

/// An applied change and the result that its caller received.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Applied {
    key: String,
    /// SHA-256 of the request; absent in changes of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<String>,
    result: ToolResult,
}

/// A creation in progress: its first writer has allocated the task's id.
#[derive(Debug, Serialize, Deserialize)]
struct Made {
    id: u64,
    /// SHA-256 of the request; absent in creations of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<String>,
    result: ToolResult,
}

/// A failed operation on the task list.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TaskError {
    /// The key-value store failed.
    #[error(transparent)]
    Storage(#[from] KvError),
    /// Concurrent writers changed the same key too often.
    #[error("the task list is too busy; try again")]
    Busy,
    /// The idempotency key belongs to an earlier request with other arguments.
    #[error(
        "the idempotency key belongs to an earlier request with other arguments; nothing was changed"
    )]
    KeyUsed,
    /// A stored value cannot be parsed.
    #[error("{key} of the task list cannot be read: {why}")]
    Damaged {
        /// The key of the value.
        key: String,
        /// The parser's reason.
        why: String,
    },
}

/// The task list of an installation; cheap to clone.
#[derive(Clone, derive_more::Debug)]
#[debug("TaskList")]
pub struct TaskList {
    kv: Arc<dyn Kv>,
}

impl TaskList {
    /// Creates a handle to the task list in `kv`.
    #[must_use]
    pub fn new(kv: Arc<dyn Kv>) -> Self {
        Self { kv }
    }

    /// Creates a task and returns the result that `tell` builds from it. If `key` was used before,
    /// returns the first result and changes nothing.
    ///
    /// # Errors
    /// [`TaskError::KeyUsed`] if the key belongs to a creation with other fields. If the storage
    /// fails; the task may have been created, and a repeat with the same key is safe.
    pub async fn create(
        &self,
        key: &str,
        fields: Fields,
        tell: impl Fn(&Task) -> ToolResult,
    ) -> Result<ToolResult, TaskError> {
        let asked = digest::of_json(&serde_json::json!(fields));
        let made_key = format!("made.{}", digest::of_bytes(key.as_bytes()));
        let made: Made = match self.read(&made_key).await? {
            Some((made, _)) => made,
            None => {
                let id = self.next_id().await?;
                let task = Task { id, status: Status::Pending, fields: fields.clone() };
                let made = Made { id, asked: Some(asked.clone()), result: tell(&task) };
                match self.kv.update(Bucket::Tasks, &made_key, bytes(&made), 0).await {
                    Ok(_) => made,
                    // Another attempt of the same call was faster; the id allocated here stays
                    // unused.
                    Err(KvError::Conflict(_)) => {
                        self.read(&made_key).await?.ok_or(TaskError::Busy)?.0
                    }
                    Err(other) => return Err(other.into()),
                }
            }
        };
        same_request(made.asked.as_deref(), &asked)?;
        let task = Task { id: made.id, status: Status::Pending, fields };
        let stored = Stored { task, changes: Vec::new() };
        match self.kv.update(Bucket::Tasks, &task_key(made.id), bytes(&stored), 0).await {
            // On a conflict the task was created before, and perhaps changed since.
            Ok(_) | Err(KvError::Conflict(_)) => Ok(made.result),
            Err(other) => Err(other.into()),
        }
    }

    /// Changes a task and returns the result of `change`. If `key` was used before, returns the
    /// first result and changes nothing. `None` if no such task exists. `asked` is the tool and its
    /// arguments.
    ///
    /// # Errors
    /// [`TaskError::KeyUsed`] if the key belongs to another request. If the storage fails; the
    /// change may have been applied, and a repeat with the same key is safe.
    pub async fn change(
        &self,
        id: u64,
        key: &str,
        asked: &Value,
        change: impl Fn(&mut Task) -> ToolResult,
    ) -> Result<Option<ToolResult>, TaskError> {
        let (key, asked) = (digest::of_bytes(key.as_bytes()), digest::of_json(asked));
        for _ in 0..CONFLICTS_MAX {
            let Some((mut stored, revision)) = self.read::<Stored>(&task_key(id)).await? else {
                return Ok(None);
            };
            if let Some(applied) = stored.changes.iter().find(|applied| applied.key == key) {
                same_request(applied.asked.as_deref(), &asked)?;
                return Ok(Some(applied.result.clone()));
            }
            if stored.task.status == Status::Deleted {
                return Ok(None);
            }
            let result = change(&mut stored.task);
            stored.changes.push(Applied {
                key: key.clone(),
                asked: Some(asked.clone()),
                result: result.clone(),
            });
            let excess = stored.changes.len().saturating_sub(REMEMBERED_MAX);
            stored.changes.drain(..excess);
            match self.kv.update(Bucket::Tasks, &task_key(id), bytes(&stored), revision).await {
                Ok(_) => return Ok(Some(result)),
                Err(KvError::Conflict(_)) => tokio::task::yield_now().await,
                Err(other) => return Err(other.into()),
            }
        }
        Err(TaskError::Busy)
    }

    /// Returns a task; `None` if it does not exist or was deleted.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn get(&self, id: u64) -> Result<Option<Task>, TaskError> {
        let stored = self.read::<Stored>(&task_key(id)).await?.map(|(stored, _)| stored.task);
        Ok(stored.filter(|task| task.status != Status::Deleted))
    }

    /// Returns all tasks that are not deleted, by id.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn list(&self) -> Result<Vec<Task>, TaskError> {
        let mut tasks = Vec::new();
        for value in self.kv.list(Bucket::Tasks, "task").await? {
            let stored: Stored = parse(&value)?;
            if stored.task.status != Status::Deleted {
                tasks.push(stored.task);
            }
        }
        tasks.sort_by_key(|task| task.id);
        Ok(tasks)
    }

    /// Stores a task under an id of the caller's choice, for imported lists and demonstrations.
    /// Returns `false` if the id is taken.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn import(&self, id: u64, fields: Fields) -> Result<bool, TaskError> {
        self.count(|last| (last < id).then_some(id)).await?;
        let task = Task { id, status: Status::Pending, fields };
        let stored = Stored { task, changes: Vec::new() };
        match self.kv.update(Bucket::Tasks, &task_key(id), bytes(&stored), 0).await {
            Ok(_) => Ok(true),
            Err(KvError::Conflict(_)) => Ok(false),
            Err(other) => Err(other.into()),
        }
    }

    async fn next_id(&self) -> Result<u64, TaskError> {
        self.count(|last| Some(last.saturating_add(1))).await
    }

    /// Advances the id counter to the result of `next` and returns it; `None` leaves it unchanged.
    async fn count(&self, next: impl Fn(u64) -> Option<u64>) -> Result<u64, TaskError> {
        for _ in 0..CONFLICTS_MAX {
            let (last, revision) = self.read::<u64>("counter").await?.unwrap_or((0, 0));
            let Some(id) = next(last) else { return Ok(last) };
            match self.kv.update(Bucket::Tasks, "counter", bytes(&id), revision).await {
                Ok(_) => return Ok(id),
                Err(KvError::Conflict(_)) => tokio::task::yield_now().await,
                Err(other) => return Err(other.into()),
            }
        }
        Err(TaskError::Busy)
    }

    async fn read<T: DeserializeOwned>(&self, key: &str) -> Result<Option<(T, u64)>, TaskError> {
        let Some(value) = self.kv.get(Bucket::Tasks, key).await? else { return Ok(None) };
        Ok(Some((parse(&value)?, value.revision)))
    }
}

/// Checks that a repeat under one key is the same request as the first one.
fn same_request(first: Option<&str>, repeat: &str) -> Result<(), TaskError> {
    match first {
        Some(first) if first != repeat => Err(TaskError::KeyUsed),
        Some(_) | None => Ok(()),
    }
}

fn task_key(id: u64) -> String {
    format!("task.{id}")
}

fn parse<T: DeserializeOwned>(value: &Versioned) -> Result<T, TaskError> {
    serde_json::from_slice(&value.value)
        .map_err(|e| TaskError::Damaged { key: value.key.clone(), why: e.to_string() })
}

fn bytes(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).expect("tasks hold strings, numbers and JSON").into()
}
