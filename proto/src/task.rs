//! A task of the built-in task list. The tools store it, and planners read it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The status of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Still to be done.
    #[default]
    Pending,
    /// Done.
    Completed,
    /// Deleted, and hidden from every query.
    Deleted,
}

/// A task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Unique id, never reused.
    pub id: u64,
    /// Progress of the task.
    pub status: Status,
    /// The descriptive fields.
    #[serde(flatten)]
    pub fields: Fields,
}

/// The descriptive fields of a task. In a change, absent fields keep their values.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fields {
    /// The work to do, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Kind of task, in the user's own terms.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Depth in the user's hierarchy, in the user's own scale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Value>,
    /// Details beyond the title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Urgency, in the user's own scale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Value>,
    /// Id of the parent task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<u64>,
    /// Time by which the task must be done, as the user wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
    /// `true` if the task needs clarification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_unclear: Option<bool>,
    /// Reason why the task needs clarification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unclear_reason: Option<String>,
}

impl Fields {
    /// Overwrites every field that `newer` contains.
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
    /// The title, or an empty string.
    #[must_use]
    pub fn title(&self) -> &str {
        self.fields.title.as_deref().unwrap_or_default()
    }
}
