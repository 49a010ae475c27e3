//! A question that is to be asked, and the text of an answer.

use jiff::SignedDuration;
use proto::{
    id::{StepId, WorkId},
    interaction::{Answer, QuestionKind, Verdict},
};
use serde_json::Value;

use super::text;

/// Tolerance for a timer that fires before its question's deadline. Both use the server's clock.
pub(super) const TIMER_SLACK: SignedDuration = SignedDuration::from_secs(5);

/// A question that is to be asked.
pub(super) struct QuestionRequest {
    pub(super) work: WorkId,
    pub(super) prompt: String,
    pub(super) kind: QuestionKind,
    pub(super) step: Option<StepId>,
    pub(super) default: Option<Value>,
    /// Time for an answer, in milliseconds, in place of the agent's.
    pub(super) within_ms: Option<u64>,
}

/// Returns the text of an answer for an agent: plain text as it is, any other value as JSON.
pub(super) fn reply_text(answer: &Answer, language: proto::lang::Language) -> String {
    match (answer.decision, &answer.value) {
        (Verdict::Reject, _) => {
            text::declined(language, answer.text.as_deref().unwrap_or_default())
        }
        (Verdict::Respond | Verdict::Approve | Verdict::Edit, Some(Value::String(text))) => {
            text.clone()
        }
        (Verdict::Respond | Verdict::Approve | Verdict::Edit, Some(value)) => value.to_string(),
        (Verdict::Respond | Verdict::Approve | Verdict::Edit, None) => {
            answer.text.clone().unwrap_or_default()
        }
    }
}
