//! The verbs about open questions and their answers. [`crate::interaction`] checks an answer
//! against its question.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    id::{AskId, JobId, Seq},
    interaction::{Answer, Question, Remember, Verdict},
};

/// The request to answer a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GiveAnswer {
    /// Id of the job that asks.
    pub job: JobId,
    /// Id of the question.
    pub ask: AskId,
    /// Decision; `respond` when absent.
    #[serde(default = "respond")]
    pub decision: Verdict,
    /// Value for a question, choice or form; the complete plan for an edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Requested change of a plan, or reason of a rejection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Digest of the approved plan or call, as the user saw it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Scope for which the approval of a tool call is remembered; this call alone when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<Remember>,
    /// Name of the user. The server ignores it when a token identifies the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// `true` to refuse the answer to a plan or a tool call if the caller submitted the job.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub four_eyes: bool,
}

impl GiveAnswer {
    /// Creates the request for an answer without a name of the user. The submitter of the job may give
    /// it, too.
    #[must_use]
    pub fn new(job: JobId, ask: AskId, answer: Answer) -> Self {
        let Answer { decision, value, text, digest, remember } = answer;
        Self { job, ask, decision, value, text, digest, remember, by: None, four_eyes: false }
    }
}

fn respond() -> Verdict {
    Verdict::Respond
}

/// The reply to an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AnswerTaken {
    /// Id of the job.
    pub job: JobId,
    /// Id of the question.
    pub ask: AskId,
    /// Position of the answer's record.
    pub seq: Seq,
}

/// The request for open questions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Inbox {
    /// Job whose questions to list. When the job has none of its own, those of its descendants are
    /// listed. All jobs when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
    /// Maximum number of questions (1 to 1000, 100 when absent).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A page of open questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct InboxPage {
    /// Questions, oldest first.
    pub questions: Vec<InboxEntry>,
    /// `true` if there are further questions.
    pub more: bool,
}

/// An open question with its job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct InboxEntry {
    /// Job that asks. The question is answered under this id.
    pub job: JobId,
    /// Root of the family, when the job is a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<JobId>,
    /// Path from the root to the job, for users; present when the job is a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Goal of the job, truncated to one line.
    pub goal: String,
    /// Server time of the question.
    pub asked: jiff::Timestamp,
    /// Question to answer.
    pub question: Question,
    /// JSON Schema of the answer's `value`; absent for a kind without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

impl InboxEntry {
    /// Parses an entry of the inbox's bucket.
    ///
    /// # Errors
    /// Fails when the value is not an entry, or belongs to another question.
    pub fn read(job: &JobId, ask: &AskId, value: &[u8]) -> Result<Self, String> {
        let entry: Self = serde_json::from_slice(value).map_err(|error| error.to_string())?;
        if (&entry.job, &entry.question.id) == (job, ask) {
            Ok(entry)
        } else {
            Err("it is the entry of another question".to_owned())
        }
    }
}
