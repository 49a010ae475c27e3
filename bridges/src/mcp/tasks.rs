//! The tasks extension of MCP: a job is a task with the id of the job. The front door keeps it.

use std::collections::BTreeMap;

use ::client::{
    answer_form,
    session::{OpenQuestion, open_questions},
};
use proto::{
    door::{GiveAnswer, SendSignal},
    error::{Code, Failure},
    id::{AskId, JobId},
    interaction::Answer,
    job::Outcome,
    lang::Language,
    point::Order,
    view::JobView,
};
use rmcp::model::{
    CallToolResult, DetailedTask, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, InputRequest, InputRequests, InputResponses, Task, TaskPayload, TaskStatus,
};
use serde_json::{Value, json};

use super::{
    McpServer, object,
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
                Some(open) => answers.push(answer(open, &key, response)?),
                None if names_a_question(&key) => {}
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
        let signal = SendSignal { job: id.parse()?, signal: Order::Cancel, reason: None, by: None };
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
            let input_requests = requests(view);
            // Approvals are for other people than the submitter, who follows the task.
            if input_requests.is_empty() {
                return TaskPayload::Working;
            }
            TaskPayload::InputRequired { input_requests }
        }
    }
}

/// Returns the open questions that the client may answer.
fn requests(view: &JobView) -> InputRequests {
    let open = open_questions(view).into_iter();
    open.filter_map(|open| Some((key(&open), request(&open)?))).collect()
}

fn request(open: &OpenQuestion) -> Option<InputRequest> {
    if is_approval(&open.question.kind) {
        return None;
    }
    let form = json!({
        "mode": "form",
        "message": open.question.prompt,
        "requestedSchema": answer_form::schema(&open.question),
    });
    // A form that MCP cannot show is answered by the tool.
    let form: ElicitRequestParams = serde_json::from_value(form).ok()?;
    Some(InputRequest::Elicitation(ElicitRequest::new(form)))
}

/// Returns the key of a question: the job that asks and its id.
fn key(open: &OpenQuestion) -> String {
    format!("{}:{}", open.job, open.question.id)
}

fn names_a_question(key: &str) -> bool {
    key.split_once(':')
        .is_some_and(|(job, ask)| job.parse::<JobId>().is_ok() && ask.parse::<AskId>().is_ok())
}

fn unknown(key: &str) -> Failure {
    let why = Text::UnknownInput { key: &key };
    Failure::composed(Code::NotFound, &why.into()).at("inputResponses")
}

/// Returns the answer in a response to an elicitation.
fn answer(open: &OpenQuestion, key: &str, response: Value) -> Result<GiveAnswer, Failure> {
    let misfit = || {
        let why = Text::OtherInput { key: &key };
        Failure::composed(Code::InvalidAnswer, &why.into()).at(format!("inputResponses.{key}"))
    };
    let result: ElicitResult = serde_json::from_value(response).map_err(|_| misfit())?;
    let answer = match (result.action, result.content) {
        (ElicitationAction::Accept, Some(content)) => {
            answer_form::answer(&open.question, &content).ok_or_else(misfit)?
        }
        (ElicitationAction::Decline | ElicitationAction::Cancel, _) => answer_form::decline(),
        _ => return Err(misfit()),
    };
    let (job, ask) = (open.job.clone(), open.question.id.clone());
    let Answer { decision, value, text, digest } = answer;
    Ok(GiveAnswer { job, ask, decision, value, text, digest, by: None, four_eyes: true })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::testing::view;

    fn asked(kind: &Value) -> JobView {
        let mut question = json!({"id": "q1", "prompt": "?"});
        question.as_object_mut().unwrap().extend(kind.as_object().unwrap().clone());
        view(&json!({"state": "input-required", "questions": [question]}))
    }

    fn ended(state: &str, outcome: &Value) -> JobView {
        view(&json!({"state": state, "outcome": outcome}))
    }

    #[rstest]
    #[case::working(view(&json!({})), TaskStatus::Working)]
    #[case::a_question(asked(&json!({"kind": "question"})), TaskStatus::InputRequired)]
    #[case::an_approval(asked(&json!({"kind": "tool_approval", "tool": "echo", "version": "1", "args": {}, "digest": "d"})), TaskStatus::Working)]
    #[case::completed(ended("completed", &json!({"state": "completed", "summary": "s"})), TaskStatus::Completed)]
    #[case::failed(ended("failed", &json!({"state": "failed", "reason": "step_failed", "message": "no"})), TaskStatus::Failed)]
    #[case::canceled(ended("canceled", &json!({"state": "canceled"})), TaskStatus::Cancelled)]
    fn a_task_has_the_state_of_its_job(#[case] view: JobView, #[case] status: TaskStatus) {
        assert_eq!(task(&view, Language::En).status, status);
    }

    #[rstest]
    #[case::accepted(json!({"action": "accept", "content": {"answer": "Ann"}}), Some("Ann"))]
    #[case::declined(json!({"action": "decline"}), None)]
    fn a_response_is_an_answer(#[case] response: Value, #[case] value: Option<&str>) {
        let open = open_questions(&asked(&json!({"kind": "question"}))).remove(0);
        let given = answer(&open, "j1:q1", response).unwrap();
        assert_eq!(given.value, value.map(Value::from));
        assert!(given.four_eyes);
    }

    #[rstest]
    #[case::no_action(json!({"content": {"answer": "Ann"}}))]
    #[case::no_content(json!({"action": "accept"}))]
    #[case::another_form(json!({"action": "accept", "content": {"name": "Ann"}}))]
    fn any_other_response_is_refused(#[case] response: Value) {
        let open = open_questions(&asked(&json!({"kind": "question"}))).remove(0);
        assert_eq!(answer(&open, "j1:q1", response).unwrap_err().code, Code::InvalidAnswer);
    }
}
