//! The objects of A2A 1.0 that this server sends and takes. Pure.
//!
//! They are types of our own. Those of the crate `a2a-lf` refuse an unknown kind of part before its
//! own error can be said, drop metadata that they cannot read, and keep members in an order that
//! changes from process to process, which the tag of the card must not. The crate `a2a-server-lf`
//! brings a second HTTP stack and keeps tasks in memory.

use jiff::Timestamp;
use proto::job::JobState;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum TaskState {
    #[serde(rename = "TASK_STATE_UNSPECIFIED")]
    Unspecified,
    #[serde(rename = "TASK_STATE_SUBMITTED")]
    Submitted,
    #[serde(rename = "TASK_STATE_WORKING")]
    Working,
    #[serde(rename = "TASK_STATE_COMPLETED")]
    Completed,
    #[serde(rename = "TASK_STATE_FAILED")]
    Failed,
    #[serde(rename = "TASK_STATE_CANCELED")]
    Canceled,
    #[serde(rename = "TASK_STATE_INPUT_REQUIRED")]
    InputRequired,
    #[serde(rename = "TASK_STATE_REJECTED")]
    Rejected,
    #[serde(rename = "TASK_STATE_AUTH_REQUIRED")]
    AuthRequired,
}

impl From<JobState> for TaskState {
    fn from(state: JobState) -> Self {
        match state {
            JobState::Submitted => Self::Submitted,
            JobState::Working => Self::Working,
            JobState::InputRequired => Self::InputRequired,
            JobState::AuthRequired => Self::AuthRequired,
            JobState::Completed => Self::Completed,
            JobState::Failed => Self::Failed,
            JobState::Canceled => Self::Canceled,
            JobState::Rejected => Self::Rejected,
        }
    }
}

impl TaskState {
    /// Returns the state of the job; `None` for no state.
    pub(super) fn job_state(self) -> Option<JobState> {
        Some(match self {
            Self::Unspecified => return None,
            Self::Submitted => JobState::Submitted,
            Self::Working => JobState::Working,
            Self::InputRequired => JobState::InputRequired,
            Self::AuthRequired => JobState::AuthRequired,
            Self::Completed => JobState::Completed,
            Self::Failed => JobState::Failed,
            Self::Canceled => JobState::Canceled,
            Self::Rejected => JobState::Rejected,
        })
    }
}

/// The sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum Role {
    #[serde(rename = "ROLE_USER")]
    User,
    #[serde(rename = "ROLE_AGENT")]
    Agent,
}

/// A part of a message or an artifact that is sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part {
    #[serde(flatten)]
    content: Content,
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
enum Content {
    Text(String),
    Data(Value),
    Url(String),
}

impl Part {
    pub(super) fn words(said: impl Into<String>) -> Self {
        Self::of(Content::Text(said.into()), "text/plain")
    }

    pub(super) fn data(value: Value) -> Self {
        Self::of(Content::Data(value), "application/json")
    }

    pub(super) fn file(url: String, name: String, media_type: Option<String>) -> Self {
        Self { content: Content::Url(url), filename: Some(name), media_type }
    }

    fn of(content: Content, media_type: &str) -> Self {
        Self { content, filename: None, media_type: Some(media_type.to_owned()) }
    }
}

/// A message that is sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Message {
    pub(super) message_id: String,
    pub(super) context_id: String,
    pub(super) task_id: String,
    pub(super) role: Role,
    pub(super) parts: Vec<Part>,
}

/// The status of a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Status {
    pub(super) state: TaskState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<Message>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timestamp: Option<Timestamp>,
}

/// A result of a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Artifact {
    pub(super) artifact_id: String,
    pub(super) name: String,
    pub(super) parts: Vec<Part>,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Task {
    pub(super) id: String,
    pub(super) context_id: String,
    pub(super) status: Status,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) artifacts: Vec<Artifact>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) history: Vec<Message>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) metadata: Map<String, Value>,
}

/// A part of a stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Update {
    Task(Box<Task>),
    #[serde(rename = "statusUpdate", rename_all = "camelCase")]
    Status {
        task_id: String,
        context_id: String,
        status: Status,
        #[serde(skip_serializing_if = "Map::is_empty")]
        metadata: Map<String, Value>,
    },
    #[serde(rename = "artifactUpdate", rename_all = "camelCase")]
    Artifact {
        task_id: String,
        context_id: String,
        artifact: Artifact,
        append: bool,
        last_chunk: bool,
    },
}

/// The result of `ListTasks`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskPage {
    pub(super) tasks: Vec<Task>,
    pub(super) next_page_token: String,
    pub(super) page_size: u32,
    pub(super) total_size: u64,
}

/// A message that is taken.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Given {
    pub(super) message_id: String,
    #[serde(default)]
    pub(super) context_id: Option<String>,
    #[serde(default)]
    pub(super) task_id: Option<String>,
    #[serde(default)]
    pub(super) role: String,
    #[serde(default)]
    pub(super) parts: Vec<Value>,
    #[serde(default)]
    pub(super) metadata: Option<Map<String, Value>>,
}

/// The parameters of `SendMessage` and `SendStreamingMessage`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SendMessage {
    pub(super) message: Given,
    #[serde(default)]
    pub(super) configuration: Option<Configuration>,
    #[serde(default)]
    pub(super) metadata: Option<Map<String, Value>>,
}

/// The wishes of a client for a reply.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Configuration {
    pub(super) accepted_output_modes: Option<Vec<String>>,
    #[serde(alias = "pushNotificationConfig")]
    pub(super) task_push_notification_config: Option<PushConfig>,
    pub(super) history_length: Option<i64>,
    pub(super) return_immediately: Option<bool>,
}

/// The parameters of `GetTask`, `CancelTask` and `SubscribeToTask`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OfTask {
    pub(super) id: String,
    #[serde(default)]
    pub(super) history_length: Option<i64>,
}

/// The parameters of `ListTasks`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ListTasks {
    pub(super) context_id: Option<String>,
    pub(super) status: Option<TaskState>,
    pub(super) page_size: Option<i64>,
    pub(super) page_token: Option<String>,
    pub(super) history_length: Option<i64>,
    pub(super) status_timestamp_after: Option<Timestamp>,
    pub(super) include_artifacts: Option<bool>,
}

/// A receiver of the notifications of a task, as its client gives and sees it: the parameters and
/// the result of `CreateTaskPushNotificationConfig`. What is secret is given and not shown.
#[derive(derive_more::Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PushConfig {
    pub(super) id: String,
    pub(super) task_id: String,
    pub(super) url: String,
    #[debug(skip)]
    #[serde(skip_serializing)]
    pub(super) token: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) authentication: Option<PushAuthentication>,
}

/// The `Authorization` of a notification.
#[derive(derive_more::Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PushAuthentication {
    pub(super) scheme: String,
    #[debug(skip)]
    #[serde(skip_serializing)]
    pub(super) credentials: String,
}

/// The parameters of `GetTaskPushNotificationConfig`, `DeleteTaskPushNotificationConfig` and, without
/// an id, `ListTaskPushNotificationConfigs`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct OfReceiver {
    pub(super) task_id: String,
    pub(super) id: String,
}

/// The result of `ListTaskPushNotificationConfigs`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PushConfigs {
    pub(super) configs: Vec<PushConfig>,
    /// Always empty: a task has so few that they are one page.
    pub(super) next_page_token: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_state_of_a_job_is_one_of_a_task() {
        for state in JobState::ALL.iter().copied() {
            let task = TaskState::from(state);
            assert_eq!(task.job_state(), Some(state));
            let name = state.to_string().to_uppercase().replace('-', "_");
            assert_eq!(json!(task), json!(format!("TASK_STATE_{name}")));
        }
        assert_eq!(TaskState::Unspecified.job_state(), None);
    }

    #[test]
    fn a_part_has_the_member_of_its_kind() {
        assert_eq!(json!(Part::words("a")), json!({"text": "a", "mediaType": "text/plain"}));
        let data = json!(Part::data(json!({"b": 1})));
        assert_eq!(data, json!({"data": {"b": 1}, "mediaType": "application/json"}));
    }
}
