//! A job as a task. Pure.

use ::client::{
    answer_form,
    session::{OpenQuestion, open_questions},
};
use proto::{
    file::FileTold,
    id::JobId,
    job::Outcome,
    view::{JobSummary, JobView, QuestionEnd},
};
use serde_json::{Map, Value, json};

use super::{
    card::FileUrls,
    types::{Artifact, Message, Part, Role, Status, Task, TaskState},
};

/// The ids of a task and its context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ids {
    pub(super) task: String,
    pub(super) context: String,
}

impl Ids {
    /// Returns the ids of a job. A job without a conversation has a context of its own.
    pub(super) fn of(view: &JobView) -> Self {
        let context = view.conversation.as_ref().map_or(view.job.as_str(), |it| it.as_str());
        Self { task: view.job.to_string(), context: context.to_owned() }
    }

    /// Returns a message of the task.
    pub(super) fn message(&self, id: &str, role: Role, parts: Vec<Part>) -> Message {
        let (context_id, task_id) = (self.context.clone(), self.task.clone());
        Message { message_id: format!("{task_id}/{id}"), context_id, task_id, role, parts }
    }
}

/// Returns the task of a job with the last messages of its history, and with its artifacts if their
/// addresses are given.
pub(super) fn task(view: &JobView, messages: usize, files: Option<&FileUrls>) -> Task {
    let ids = Ids::of(view);
    let mut history = history(view, &ids);
    history.drain(..history.len().saturating_sub(messages));
    Task {
        id: ids.task.clone(),
        context_id: ids.context.clone(),
        status: status(view, &ids),
        artifacts: files.map(|files| artifacts(view, files)).unwrap_or_default(),
        history,
        metadata: about(view.agent.as_str()),
    }
}

/// Returns the task of a job in a list.
pub(super) fn listed(job: &JobSummary) -> Task {
    let context = job.conversation.as_ref().map_or(job.job.as_str(), |it| it.as_str());
    let (state, timestamp) = (job.state.into(), Some(job.updated));
    Task {
        id: job.job.to_string(),
        context_id: context.to_owned(),
        status: Status { state, message: None, timestamp },
        artifacts: Vec::new(),
        history: Vec::new(),
        metadata: about(job.agent.as_str()),
    }
}

/// Returns the task of a job that its caller may submit and not read.
pub(super) fn unseen(job: &JobId, context: &str) -> Task {
    Task {
        id: job.to_string(),
        context_id: context.to_owned(),
        status: Status { state: TaskState::Submitted, message: None, timestamp: None },
        artifacts: Vec::new(),
        history: Vec::new(),
        metadata: Map::new(),
    }
}

fn about(agent: &str) -> Map<String, Value> {
    [("agent".to_owned(), json!(agent))].into_iter().collect()
}

/// Returns the status: of a job that waits, with its questions.
pub(super) fn status(view: &JobView, ids: &Ids) -> Status {
    let parts = match &view.outcome {
        Some(Outcome::Completed { .. }) => Vec::new(),
        Some(Outcome::Failed { message, .. }) => vec![Part::words(message)],
        Some(Outcome::Canceled { reason }) => reason.iter().map(Part::words).collect(),
        None if view.state.needs_person() => {
            open_questions(view).iter().flat_map(question).collect()
        }
        None => view.reason.iter().map(Part::words).collect(),
    };
    let id = format!("status-{}", view.seq);
    let message = (!parts.is_empty()).then(|| ids.message(&id, Role::Agent, parts));
    Status { state: view.state.into(), message, timestamp: Some(view.updated) }
}

/// Returns the parts of a question: its text for people, and the form of its answer.
fn question(open: &OpenQuestion) -> [Part; 2] {
    let form = json!({
        "ask": key(open),
        "schema": answer_form::schema(&open.question),
        "question": open.question,
    });
    [Part::words(&open.question.prompt), Part::data(form)]
}

/// Returns the id of a question in the context of its task: the job that asks and the question.
pub(super) fn key(open: &OpenQuestion) -> String {
    format!("{}:{}", open.job, open.question.id)
}

/// Returns the files that a job published, and the results of a completed one.
pub(super) fn artifacts(view: &JobView, files: &FileUrls) -> Vec<Artifact> {
    let published = view.artifacts.iter().filter_map(|artifact| {
        let FileTold { name, media_type, url, .. } = &artifact.file;
        let url = url.clone().or_else(|| files.of(&view.job, name))?;
        Some(Artifact {
            artifact_id: format!("{}/files/{name}", view.job),
            name: name.to_string(),
            parts: vec![Part::file(url, name.to_string(), media_type.clone())],
        })
    });
    published.chain(result(view)).collect()
}

/// Returns the results of a completed job.
fn result(view: &JobView) -> Option<Artifact> {
    let Some(Outcome::Completed { summary, results, value }) = &view.outcome else {
        return None;
    };
    let mut parts = vec![Part::words(summary)];
    // The structured result stands for those of the steps.
    let data = if value.is_null() { results } else { value };
    if !data.is_null() {
        parts.push(Part::data(data.clone()));
    }
    let artifact_id = format!("{}/result", view.job);
    Some(Artifact { artifact_id, name: "result".to_owned(), parts })
}

/// Returns what was said about a job: its goal, then closed questions with their answers.
fn history(view: &JobView, ids: &Ids) -> Vec<Message> {
    let goal = vec![Part::words(&view.goal)];
    let mut history = vec![ids.message("goal", Role::User, goal)];
    for past in &view.past_questions {
        let prompt = vec![Part::words(&past.prompt)];
        history.push(ids.message(past.id.as_str(), Role::Agent, prompt));
        let QuestionEnd::Answered { decision, chosen, text, by: _ } = &past.end else { continue };
        let part = match chosen.as_ref().or(text.as_ref()) {
            Some(said) => Part::words(said),
            None => Part::data(json!({"decision": decision})),
        };
        history.push(ids.message(&format!("{}-answer", past.id), Role::User, vec![part]));
    }
    history
}

#[cfg(test)]
pub(super) mod tests {
    use rstest::rstest;

    use super::{super::card::Place, *};

    pub(in crate::a2a) fn view(more: &Value) -> JobView {
        let mut fields = json!({"conversation": "talk"});
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        crate::testing::view(&fields)
    }

    pub(in crate::a2a) fn files() -> FileUrls {
        let url = "https://jobs.example.com/a2a".to_owned();
        FileUrls::beside(&Place { url, version: "0.1.0", issuer: None })
    }

    pub(in crate::a2a) fn asking() -> JobView {
        let question = json!({"id": "q1", "prompt": "Whom?", "kind": "question"});
        view(&json!({"state": "input-required", "questions": [question]}))
    }

    pub(in crate::a2a) fn completed() -> JobView {
        let outcome = json!({"state": "completed", "summary": "Done.", "results": {"a": 1}});
        view(&json!({"state": "completed", "outcome": outcome}))
    }

    #[test]
    fn a_task_that_waits_shows_each_question_with_its_form() {
        let task = json!(task(&asking(), 9, Some(&files())));
        assert_eq!((&task["id"], &task["contextId"]), (&json!("j1"), &json!("talk")));
        assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
        let parts = &task["status"]["message"]["parts"];
        assert_eq!(parts[0]["text"], "Whom?");
        assert_eq!(parts[1]["data"]["ask"], "j1:q1");
        assert_eq!(parts[1]["data"]["schema"]["required"], json!(["answer"]));
        assert_eq!(task["artifacts"], Value::Null);
    }

    #[test]
    fn a_completed_task_has_its_result_as_an_artifact() {
        let task = json!(task(&completed(), 9, Some(&files())));
        assert_eq!(task["artifacts"][0]["parts"][0]["text"], "Done.");
        assert_eq!(task["artifacts"][0]["parts"][1]["data"], json!({"a": 1}));
        assert_eq!(task["status"]["message"], Value::Null);
    }

    #[test]
    fn a_published_file_is_an_artifact_at_the_address_of_its_download() {
        let artifacts = json!([
            {"name": "a report.md", "media_type": "text/markdown", "bytes": 9, "step": "s", "tool": "t"},
            {"name": "page", "url": "https://a.example/p", "step": "s", "tool": "t"},
        ]);
        let task = json!(task(&view(&json!({"artifacts": artifacts})), 9, Some(&files())));
        let parts: Vec<_> = [0, 1].map(|n| task["artifacts"][n]["parts"][0].clone()).into();
        let own = "https://jobs.example.com/v1/jobs/j1/files/a%20report.md";
        let own = json!({"url": own, "filename": "a report.md", "mediaType": "text/markdown"});
        let other = json!({"url": "https://a.example/p", "filename": "page"});
        assert_eq!(parts, [own, other]);
    }

    #[test]
    fn a_failed_task_says_why() {
        let outcome = json!({"state": "failed", "reason": "step_failed", "message": "no"});
        let task =
            json!(task(&view(&json!({"state": "failed", "outcome": outcome})), 9, Some(&files())));
        assert_eq!(task["status"]["message"]["parts"][0]["text"], "no");
    }

    #[rstest]
    #[case::all(9, 3)]
    #[case::the_last(1, 1)]
    #[case::none(0, 0)]
    fn the_history_is_cut_at_its_beginning(#[case] messages: usize, #[case] left: usize) {
        let past = json!({
            "id": "q1", "kind": "question", "prompt": "Whom?", "end": "answered",
            "decision": "respond", "chosen": "Ann", "by": "bob",
            "asked": "2026-03-01T09:00:01Z", "ended": "2026-03-01T09:00:02Z",
        });
        let history = task(&view(&json!({"past_questions": [past]})), messages, None).history;
        assert_eq!(history.len(), left);
        if let Some(last) = history.last() {
            assert_eq!((last.role, &last.parts), (Role::User, &vec![Part::words("Ann")]));
        }
    }
}
