//! The arguments of the tools. Pure.

use proto::{
    door::SubmitFile,
    id::{AgentName, AskId, ConversationId, JobId},
    interaction::Verdict,
    job::JobState,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::words::Text;

/// Longest wait for a job in milliseconds. Hosts and proxies give up after 60 s.
pub(super) const WAIT_MS_MAX: u32 = 50_000;

/// A time to wait, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "u32")]
pub(super) struct WaitMs(u32);

impl TryFrom<u32> for WaitMs {
    type Error = String;
    fn try_from(wait: u32) -> Result<Self, String> {
        let too_long = || Text::WaitTooLong { max: &WAIT_MS_MAX }.text(proto::lang::Language::En);
        if wait <= WAIT_MS_MAX { Ok(Self(wait)) } else { Err(too_long()) }
    }
}

impl WaitMs {
    /// Returns the time; `None` if there is nothing to wait for.
    pub(super) fn duration(self) -> Option<std::time::Duration> {
        (self.0 > 0).then(|| std::time::Duration::from_millis(self.0.into()))
    }
}

/// The arguments of `submit_job`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SubmitJob {
    /// Goal of the job.
    pub(super) goal: String,
    /// Agent that carries out the job; the default agent when absent.
    #[serde(default)]
    pub(super) agent: Option<AgentName>,
    /// Id of the job. A repeated call with the same id and arguments finds the job instead of
    /// submitting another one.
    #[serde(default)]
    pub(super) id: Option<JobId>,
    /// Files for the job.
    #[serde(default)]
    pub(super) files: Vec<SubmitFile>,
    /// Time to wait, in milliseconds, until the job ends or waits for a person.
    #[serde(default)]
    #[schemars(with = "u32", range(max = WAIT_MS_MAX))]
    pub(super) wait_ms: WaitMs,
}

/// The arguments of `get_job`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetJob {
    /// Id of the job.
    pub(super) job: JobId,
    /// Time to wait, in milliseconds, until the job ends or waits for a person.
    #[serde(default)]
    #[schemars(with = "u32", range(max = WAIT_MS_MAX))]
    pub(super) wait_ms: WaitMs,
}

/// The arguments of `list_jobs`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListJobs {
    /// States of the jobs; every state when empty.
    #[serde(default)]
    pub(super) states: Vec<JobState>,
    /// Agent of the jobs.
    #[serde(default)]
    pub(super) agent: Option<AgentName>,
    /// Conversation of the jobs.
    #[serde(default)]
    pub(super) conversation: Option<ConversationId>,
    /// Maximum number of jobs (1 to 500, 50 when absent).
    #[serde(default)]
    pub(super) limit: Option<u32>,
    /// Job after which the list starts: `next` of the page before.
    #[serde(default)]
    pub(super) after: Option<JobId>,
}

/// The arguments of `list_questions`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuestions {
    /// Job whose questions to list; every job when absent.
    #[serde(default)]
    pub(super) job: Option<JobId>,
    /// Maximum number of questions (1 to 1000, 100 when absent).
    #[serde(default)]
    pub(super) limit: Option<u32>,
}

/// The arguments of `answer_question`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerQuestion {
    /// Job that asks.
    pub(super) job: JobId,
    /// Id of the question.
    pub(super) ask: AskId,
    /// Decision; `respond` when absent.
    #[serde(default)]
    pub(super) decision: Option<Verdict>,
    /// Value for a question, choice or form, which fits the question's `schema`; the complete plan
    /// for an edit.
    #[serde(default)]
    pub(super) value: Option<Value>,
    /// Requested change of a plan, or reason of a rejection.
    #[serde(default)]
    pub(super) text: Option<String>,
    /// Digest of the approved plan or call, as the question has it.
    #[serde(default)]
    pub(super) digest: Option<String>,
}

/// The arguments of `cancel_job`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelJob {
    /// Id of the job.
    pub(super) job: JobId,
    /// Reason, for people who read the log.
    #[serde(default)]
    pub(super) reason: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_wait_is_bounded() {
        let of = |wait: Value| serde_json::from_value::<WaitMs>(wait);
        assert_eq!(of(json!(0)).unwrap().duration(), None);
        assert_eq!(of(json!(50_000)).unwrap().duration().unwrap().as_secs(), 50);
        assert!(of(json!(50_001)).is_err());
        assert!(of(json!(-1)).is_err());
    }
}
