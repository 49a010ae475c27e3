//! The verbs for people: open questions and their answers. Types alone; whether an answer fits its
//! question is decided in [`crate::interaction`].

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    id::{AskId, JobId, Seq},
    interaction::{Question, Verdict},
};

/// Answers a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GiveAnswer {
    /// The job.
    pub job: JobId,
    /// The question.
    pub ask: AskId,
    /// What is decided; `respond` when absent.
    #[serde(default = "respond")]
    pub decision: Verdict,
    /// The answer to a question, choice or form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// For approvals: the digest of what was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Who, for the record. Ignored when the server knows the caller by a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

fn respond() -> Verdict {
    Verdict::Respond
}

/// What became of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerTaken {
    /// The job.
    pub job: JobId,
    /// The question.
    pub ask: AskId,
    /// The position of the answer's record.
    pub seq: Seq,
}

/// Asks for open questions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Inbox {
    /// Only those of one job; where it has none of its own, those of the jobs below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
    /// How many (1 to 1000, 100 when absent).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Open questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InboxPage {
    /// Oldest first.
    pub questions: Vec<InboxEntry>,
    /// Whether there are more.
    pub more: bool,
}

/// An open question and whose it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InboxEntry {
    /// The job that waits.
    pub job: JobId,
    /// The job at the top, when that one works for another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<JobId>,
    /// Where it is below that, for people: the root and the steps on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its goal, cut to one line.
    pub goal: String,
    /// When it was asked, by the server's clock.
    pub asked: jiff::Timestamp,
    /// The question.
    pub question: Question,
    /// JSON Schema of the answer's `value`, for kinds that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

impl InboxEntry {
    /// Reads what the inbox holds of a question.
    ///
    /// # Errors
    /// When it is no entry, or that of another question.
    pub fn read(job: &JobId, ask: &AskId, value: &[u8]) -> Result<Self, String> {
        let entry: Self = serde_json::from_slice(value).map_err(|error| error.to_string())?;
        if (&entry.job, &entry.question.id) == (job, ask) {
            Ok(entry)
        } else {
            Err("it is the entry of another question".to_owned())
        }
    }
}
