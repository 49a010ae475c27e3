//! The updates of a task: the events and views of its job, in the order of the log. Pure.
//!
//! Events tell the progress. A view shows a question or the end with all that belongs to it, and
//! then the stream ends.

use std::collections::BTreeSet;

use ::client::session::open_questions;
use proto::{
    event::{Event, Happened, JobEvent, MessageEvent, StepEvent, Stream},
    id::{AskId, JobId},
    job::JobState,
    view::JobView,
};
use serde_json::{Map, Value, json};

use super::{
    card::FileUrls,
    task::{Ids, artifacts, status},
    types::{Part, Role, Status, Update},
};

/// A question by the job that asks and its id.
pub(super) type Asked = (JobId, AskId);

/// The updates of a task after its first picture.
#[derive(Debug)]
pub(super) struct Updates {
    ids: Ids,
    state: JobState,
    /// The questions that the reader knows already.
    known: BTreeSet<Asked>,
    files: FileUrls,
    has_ended: bool,
}

impl Updates {
    /// Creates the updates of a message. They end with a question that is not among these.
    pub(super) fn of_message(view: &JobView, known: BTreeSet<Asked>, files: FileUrls) -> Self {
        let (ids, state) = (Ids::of(view), view.state);
        let mut updates = Self { ids, state, known, files, has_ended: false };
        updates.has_ended = updates.ends_with(view);
        updates
    }

    /// Creates the updates of a subscription. They end with a question that is not in this view.
    pub(super) fn of_subscription(view: &JobView, files: FileUrls) -> Self {
        Self::of_message(view, keys(view), files)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Takes an event.
    pub(super) fn event(&mut self, event: &Event) -> Vec<Update> {
        let (mut parts, mut metadata) = (Vec::new(), Map::new());
        match &event.happened {
            Happened::Job(JobEvent { state, reason, .. }) => {
                self.state = *state;
                parts.extend(reason.iter().map(Part::words));
            }
            Happened::Message(MessageEvent { stream, step, text, .. }) => {
                let is_result = *stream == Stream::Result;
                // The answer of the job is its artifact.
                if is_result && step.is_none() {
                    return Vec::new();
                }
                parts.push(Part::words(text));
                metadata.insert("stream".to_owned(), json!(stream));
                metadata.extend(step.iter().map(|step| ("step".to_owned(), json!(step))));
            }
            Happened::Step(StepEvent { phase, step, label, .. }) => {
                metadata.insert("step".to_owned(), json!(step));
                metadata.insert("phase".to_owned(), json!(phase));
                metadata.insert("label".to_owned(), json!(label));
            }
            Happened::Error(_)
            | Happened::Tool(_)
            | Happened::Interaction(_)
            | Happened::Usage(_)
            | Happened::Plan(_)
            | Happened::Notice(_)
            | Happened::Turn(_)
            | Happened::Node(_)
            | Happened::Artifact(_) => return Vec::new(),
        }
        // The view that follows shows the question or the end.
        if self.has_ended || self.state.needs_person() || self.state.is_terminal() {
            return Vec::new();
        }
        let message = (!parts.is_empty())
            .then(|| self.ids.message(&event.id.to_string(), Role::Agent, parts));
        let status = Status { state: self.state.into(), message, timestamp: Some(event.time) };
        vec![self.update(status, metadata)]
    }

    /// Takes a view of the job after the events so far.
    pub(super) fn view(&mut self, view: &JobView) -> Vec<Update> {
        if self.has_ended || !self.ends_with(view) {
            return Vec::new();
        }
        self.has_ended = true;
        self.state = view.state;
        let of = |artifact| Update::Artifact {
            task_id: self.ids.task.clone(),
            context_id: self.ids.context.clone(),
            artifact,
            append: false,
            last_chunk: true,
        };
        let mut updates: Vec<Update> = artifacts(view, &self.files).into_iter().map(of).collect();
        updates.push(self.update(status(view, &self.ids), Map::new()));
        updates
    }

    fn ends_with(&self, view: &JobView) -> bool {
        let asks = view.state.needs_person() && !keys(view).is_subset(&self.known);
        asks || view.state.is_terminal()
    }

    fn update(&self, status: Status, metadata: Map<String, Value>) -> Update {
        let Ids { task, context } = self.ids.clone();
        Update::Status { task_id: task, context_id: context, status, metadata }
    }
}

fn keys(view: &JobView) -> BTreeSet<Asked> {
    open_questions(view).iter().map(|open| open.key()).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{
        super::task::tests::{asking, completed, files, view},
        *,
    };

    fn event(id: &str, happened: &Value) -> Event {
        let mut event = json!({"id": id, "time": "2026-03-01T09:00:00Z"});
        event.as_object_mut().unwrap().extend(happened.as_object().unwrap().clone());
        serde_json::from_value(event).unwrap()
    }

    fn state(state: &str) -> Event {
        event("4.1", &json!({"type": "job", "state": state}))
    }

    fn states(updates: &[Update]) -> Vec<Value> {
        let state = |update: &Update| json!(update)["statusUpdate"]["status"]["state"].clone();
        updates.iter().map(state).collect()
    }

    #[test]
    fn a_stream_of_a_message_ends_with_a_question() {
        let mut updates = Updates::of_message(&view(&json!({})), BTreeSet::new(), files());
        assert_eq!(states(&updates.event(&state("working"))), ["TASK_STATE_WORKING"]);
        assert_eq!(updates.event(&state("input-required")), []);
        assert!(!updates.has_ended());
        assert_eq!(states(&updates.view(&asking())), ["TASK_STATE_INPUT_REQUIRED"]);
        assert!(updates.has_ended());
        assert_eq!(updates.view(&asking()), []);
    }

    #[test]
    fn a_view_from_before_its_answer_does_not_end_the_stream() {
        let mut updates = Updates::of_message(&asking(), keys(&asking()), files());
        assert!(!updates.has_ended());
        assert_eq!(updates.view(&asking()), []);
    }

    #[test]
    fn the_result_comes_before_the_end() {
        let mut updates = Updates::of_message(&view(&json!({})), BTreeSet::new(), files());
        let answer = json!({"type": "message", "stream": "result", "text": "Done."});
        assert_eq!(updates.event(&event("4.1", &answer)), []);
        assert_eq!(updates.event(&state("completed")), []);
        let shown = updates.view(&completed());
        assert_eq!(json!(shown[0])["artifactUpdate"]["artifact"]["name"], "result");
        assert_eq!(states(&shown[1..]), ["TASK_STATE_COMPLETED"]);
    }

    #[test]
    fn a_subscription_to_a_task_that_waits_goes_on_to_the_next_question() {
        let mut updates = Updates::of_subscription(&asking(), files());
        assert!(!updates.has_ended());
        assert_eq!(updates.view(&asking()), []);
        let next = json!({"id": "q2", "prompt": "When?", "kind": "question"});
        let next = view(&json!({"state": "input-required", "questions": [next], "seq": 9}));
        assert_eq!(updates.view(&next).len(), 1);
        assert!(updates.has_ended());
    }

    #[rstest]
    #[case::a_thought(json!({"type": "message", "stream": "thought", "text": "hm"}), json!({"stream": "thought"}))]
    #[case::a_step(json!({"type": "step", "phase": "started", "step": "s1", "label": "Look", "attempt": 1}), json!({"step": "s1", "phase": "started", "label": "Look"}))]
    fn progress_is_an_update_of_the_status(#[case] happened: Value, #[case] metadata: Value) {
        let mut updates = Updates::of_message(&view(&json!({})), BTreeSet::new(), files());
        let shown = json!(updates.event(&event("4.1", &happened)));
        assert_eq!(shown[0]["statusUpdate"]["metadata"], metadata);
    }

    #[test]
    fn a_repeated_message_of_a_task_that_has_ended_shows_only_the_task() {
        assert!(Updates::of_message(&completed(), BTreeSet::new(), files()).has_ended());
        assert!(Updates::of_message(&asking(), BTreeSet::new(), files()).has_ended());
    }
}
