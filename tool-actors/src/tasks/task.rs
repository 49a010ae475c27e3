//! What a task is and says.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where a task stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Still to be done.
    #[default]
    Pending,
    /// Done.
    Completed,
    /// Deleted; nobody sees it any more.
    Deleted,
}

/// A task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Its number, given out once and never again.
    pub id: u64,
    /// Where it stands.
    pub status: Status,
    /// What it says.
    #[serde(flatten)]
    pub fields: Fields,
}

/// What can be said of a task. Absent fields are left as they are by a change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fields {
    /// What is to be done, in a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What kind of task it is.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// How deep in a hierarchy, as its user counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Value>,
    /// More words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How urgent, as its user says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Value>,
    /// The task it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<u64>,
    /// When it must be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
    /// Whether it is not clear what is to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_unclear: Option<bool>,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unclear_reason: Option<String>,
}

impl Fields {
    /// Takes over every field that `newer` has.
    pub fn merge(&mut self, newer: Self) {
        fn take<T>(old: &mut Option<T>, new: Option<T>) {
            if new.is_some() {
                *old = new;
            }
        }
        take(&mut self.title, newer.title);
        take(&mut self.kind, newer.kind);
        take(&mut self.level, newer.level);
        take(&mut self.description, newer.description);
        take(&mut self.priority, newer.priority);
        take(&mut self.parent_id, newer.parent_id);
        take(&mut self.deadline, newer.deadline);
        take(&mut self.is_unclear, newer.is_unclear);
        take(&mut self.unclear_reason, newer.unclear_reason);
    }
}

impl Task {
    /// Its title; empty when it has none.
    #[must_use]
    pub fn title(&self) -> &str {
        self.fields.title.as_deref().unwrap_or_default()
    }
}
