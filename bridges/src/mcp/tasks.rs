//! The tasks extension of MCP: a job is a task with the id of the job. The front door keeps it.

use std::collections::BTreeMap;

use ::client::session::{OpenQuestion, open_questions};
use proto::{
    door::SendSignal,
    error::{Code, Failure},
    job::Outcome,
    lang::Language,
    point::Order,
    view::JobView,
};
use rmcp::model::{
    CallToolResult, DetailedTask, InputRequests, InputResponses, Task, TaskPayload, TaskStatus,
};
use serde_json::json;

use super::{
    McpServer, object,
    questions::{self, Response},
    status::{Status, is_approval},
    words::Text,
};

/// Time between two looks at a task that is proposed to clients.
const POLL_INTERVAL_MS: u64 = 1_000;

impl McpServer {
    /// Returns a job as a task.
    pub(super) async fn task(&self, id: &str) -> Result<DetailedTask, Failure> {
        let view = self.client.get(&id.parse()?).await?;
        let payload = payload(&view, self.language);
        Ok(DetailedTask::new(task(&view, self.language), payload))
    }

    /// Gives the answers to questions of a task. A question that was answered elsewhere in the
    /// meantime counts as answered.
    pub(super) async fn update(&self, id: &str, responses: InputResponses) -> Result<(), Failure> {
        let view = self.client.get(&id.parse()?).await?;
        let open: BTreeMap<String, OpenQuestion> =
            open_questions(&view).into_iter().map(|open| (key(&open), open)).collect();
        let mut answers = Vec::new();
        for (key, response) in responses {
            match open.get(&key) {
                Some(open) => answers.push(match questions::response(open, &response)? {
                    Response::Answered(answer) => answer,
                    // A task shows its question until it has an answer.
                    Response::Dismissed => questions::declined(open),
                }),
                None if questions::is_key(&key) => {}
                None => return Err(unknown(&key)),
            }
        }
        for answer in answers {
            match self.client.call(&answer).await {
                Ok(_) => {}
                Err(failure) if failure.code.is_settled_elsewhere() => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }

    /// Cancels a job. A job that has ended stays as it is.
    pub(super) async fn cancel(&self, id: &str) -> Result<(), Failure> {
        let signal = SendSignal {
            job: id.parse()?,
            signal: Order::Cancel,
            expected_seq: None,
            reason: None,
            by: None,
        };
        match self.client.call(&signal).await {
            Ok(_) => Ok(()),
            Err(failure) if failure.code == Code::JobEnded => Ok(()),
            Err(failure) => Err(failure),
        }
    }
}

/// Returns the task of a job.
pub(super) fn task(view: &JobView, language: Language) -> Task {
    let status = payload(view, language).status();
    let mut task =
        Task::new(view.job.as_str(), status, view.created.to_string(), view.updated.to_string())
            .with_poll_interval_ms(POLL_INTERVAL_MS);
    let waits = open_questions(view).iter().any(|open| is_approval(&open.question.kind));
    task.status_message = match (status, waits) {
        (TaskStatus::Working, true) => Some(Text::AskForApproval.text(language)),
        _ => view.reason.clone(),
    };
    task
}

fn payload(view: &JobView, language: Language) -> TaskPayload {
    match &view.outcome {
        Some(Outcome::Completed { .. }) => {
            let result = CallToolResult::structured(json!(Status::of(view, language)));
            TaskPayload::Completed { result: object(json!(result)) }
        }
        Some(Outcome::Failed { reason, message, .. }) => {
            let error = json!({"code": -32_000, "message": message, "data": {"code": reason}});
            TaskPayload::Failed { error: object(error) }
        }
        Some(Outcome::Canceled { .. }) => TaskPayload::Cancelled,
        None => {
            let input_requests: InputRequests =
                questions::requests(view).map(|(open, request)| (key(&open), request)).collect();
            // Approvals are for other people than the submitter, who follows the task.
            if input_requests.is_empty() {
                return TaskPayload::Working;
            }
            TaskPayload::InputRequired { input_requests }
        }
    }
}

fn key(open: &OpenQuestion) -> String {
    questions::key(&open.job, &open.question.id)
}

fn unknown(key: &str) -> Failure {
    let why = Text::UnknownInput { key: &key };
    Failure::composed(Code::NotFound, &why.into()).at("inputResponses")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::Value;

    use super::*;
    use crate::testing::{asking, view};

    fn ended(state: &str, outcome: &Value) -> JobView {
        view(&json!({"state": state, "outcome": outcome}))
    }

    #[rstest]
    #[case::working(view(&json!({})), TaskStatus::Working)]
    #[case::a_question(asking(&json!({"kind": "question"})), TaskStatus::InputRequired)]
    #[case::an_approval(asking(&json!({"kind": "tool_approval", "tool": "echo", "version": "1", "args": {}, "digest": "d"})), TaskStatus::Working)]
    #[case::completed(ended("completed", &json!({"state": "completed", "summary": "s"})), TaskStatus::Completed)]
    #[case::failed(ended("failed", &json!({"state": "failed", "reason": "step_failed", "message": "no"})), TaskStatus::Failed)]
    #[case::canceled(ended("canceled", &json!({"state": "canceled"})), TaskStatus::Cancelled)]
    fn a_task_has_the_state_of_its_job(#[case] view: JobView, #[case] status: TaskStatus) {
        assert_eq!(task(&view, Language::En).status, status);
    }
}
