//! A job, as a model needs to know it. Pure.

use ::client::session::open_questions;
use proto::{
    id::{AskId, JobId, StepId},
    interaction::QuestionKind,
    job::{JobState, Outcome, SubStatus},
    lang::Language,
    view::JobView,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::words::Text;

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(super) struct Status {
    /// Id of the job.
    job: JobId,
    /// `true` if this call submitted the job, `false` if the job was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<bool>,
    /// State of the job; absent for a caller who may not read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<JobState>,
    /// Activity within the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    sub_status: Option<SubStatus>,
    /// Goal of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    goal: Option<String>,
    /// Steps of the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<Step>,
    /// Open questions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    questions: Vec<Open>,
    /// Answer of a completed job.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    /// Result that fits the schema of the job's agent.
    #[serde(skip_serializing_if = "Value::is_null")]
    value: Value,
    /// Reason why the job failed, was cancelled, or does not move.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Next thing to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct Step {
    /// Id of the step.
    id: StepId,
    /// Short title.
    title: String,
    /// State of the step.
    state: String,
}

/// An open question.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct Open {
    /// Job that asks.
    job: JobId,
    /// Id of the question.
    ask: AskId,
    /// Text of the question.
    prompt: String,
    /// `true` if the question approves a plan or a tool call: the submitter must not answer it here.
    is_approval: bool,
}

impl Status {
    /// Returns what a caller learns who may not read the job.
    pub(super) fn unseen(job: JobId, created: bool) -> Self {
        Self {
            job,
            created: Some(created),
            state: None,
            sub_status: None,
            goal: None,
            steps: Vec::new(),
            questions: Vec::new(),
            answer: None,
            value: Value::Null,
            reason: None,
            next: None,
        }
    }

    /// Adds whether a call submitted the job.
    pub(super) fn submitted(self, created: bool) -> Self {
        Self { created: Some(created), ..self }
    }

    /// Returns what a model needs to know of a job.
    pub(super) fn of(view: &JobView, language: Language) -> Self {
        let questions: Vec<Open> = open_questions(view)
            .into_iter()
            .map(|open| Open {
                job: open.job,
                ask: open.question.id,
                prompt: open.question.prompt,
                is_approval: is_approval(&open.question.kind),
            })
            .collect();
        let steps = view.plan.iter().flat_map(|plan| &plan.steps).map(|step| Step {
            id: step.id.clone(),
            title: step.title.clone(),
            state: step.state.to_string(),
        });
        let (answer, reason) = match &view.outcome {
            Some(Outcome::Completed { summary, .. }) => (Some(summary.clone()), None),
            Some(Outcome::Failed { message, .. }) => (None, Some(message.clone())),
            Some(Outcome::Canceled { reason }) => (None, reason.clone()),
            None => (None, view.reason.clone()),
        };
        let next = match &view.outcome {
            Some(_) => None,
            None if questions.iter().any(|question| question.is_approval) => {
                Some(Text::AskForApproval)
            }
            None if !questions.is_empty() => Some(Text::AnswerQuestions),
            None => Some(Text::WaitForJob),
        };
        Self {
            job: view.job.clone(),
            created: None,
            state: Some(view.state),
            sub_status: view.sub_status,
            goal: Some(view.goal.clone()),
            steps: steps.collect(),
            questions,
            answer,
            value: view.outcome.as_ref().map(Outcome::value).cloned().unwrap_or_default(),
            reason,
            next: next.map(|next| next.text(language)),
        }
    }
}

/// Returns whether a question approves something, and its answer is therefore for another person
/// than the submitter.
pub(super) fn is_approval(kind: &QuestionKind) -> bool {
    match kind {
        QuestionKind::PlanCheck { .. } | QuestionKind::ToolApproval { .. } => true,
        QuestionKind::Question | QuestionKind::Choice { .. } | QuestionKind::Form { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::testing::view;

    #[rstest]
    #[case::working(json!({}), "get_job")]
    #[case::a_question(json!({"state": "input-required", "questions": [{"id": "q1", "prompt": "Whom?", "kind": "question"}]}), "list_questions")]
    #[case::an_approval(json!({"state": "input-required", "questions": [{"id": "q1", "prompt": "May I?", "kind": "tool_approval", "tool": "echo", "version": "1", "args": {}, "digest": "d"}]}), "person")]
    fn a_job_that_has_not_ended_says_what_to_do(#[case] more: Value, #[case] next: &str) {
        let status = Status::of(&view(&more), Language::En);
        assert!(status.next.unwrap().contains(next));
        assert_eq!(status.answer, None);
    }

    #[rstest]
    #[case::completed(json!({"state": "completed", "outcome": {"state": "completed", "summary": "Done."}}), Some("Done."), None)]
    #[case::failed(json!({"state": "failed", "outcome": {"state": "failed", "reason": "step_failed", "message": "no"}}), None, Some("no"))]
    fn a_job_that_has_ended_says_how(
        #[case] more: Value,
        #[case] answer: Option<&str>,
        #[case] reason: Option<&str>,
    ) {
        let status = Status::of(&view(&more), Language::En);
        assert_eq!((status.answer.as_deref(), status.reason.as_deref()), (answer, reason));
        assert_eq!(status.next, None);
    }
}
