//! A client's session with one job: its view, the text that streams by, and its open questions. The
//! command line uses it; every other program for people may.
//!
//! [`SessionState`] is pure. [`Session`] feeds it from a watch, which resumes by itself.

pub mod draft;
pub mod live_text;
pub mod parse;
pub mod position;
pub mod questions;

use std::{collections::BTreeSet, pin::Pin};

use futures::{Stream, StreamExt};
use proto::{
    door::Watched,
    error::Failure,
    id::{AskId, JobId},
    view::JobView,
};

pub use self::{
    draft::{AnswerDraft, Taken},
    live_text::LiveText,
    position::Position,
    questions::{OpenQuestion, open_questions},
};
use crate::{Client, WatchOptions};

/// A watched job.
#[derive(derive_more::Debug)]
#[debug("Session({job})")]
pub struct Session {
    /// The items taken so far.
    pub state: SessionState,
    job: JobId,
    items: Pin<Box<dyn Stream<Item = Result<Watched, Failure>> + Send>>,
}

impl Session {
    /// Watches a job.
    #[must_use]
    pub fn open(client: &Client, job: JobId, options: WatchOptions) -> Self {
        let items = Box::pin(client.watch(&job, options));
        Self { state: SessionState::default(), job, items }
    }

    /// The watched job.
    #[must_use]
    pub fn job(&self) -> &JobId {
        &self.job
    }

    /// The next item, for [`SessionState::apply`]; none after the last one. Cancel-safe.
    pub async fn next(&mut self) -> Option<Result<Watched, Failure>> {
        self.items.next().await
    }
}

/// The items of a watch, folded.
#[derive(Debug, Default)]
pub struct SessionState {
    view: Option<JobView>,
    text: LiveText,
    shown: BTreeSet<(JobId, AskId)>,
}

/// The effect of an item.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// None that is shown.
    Nothing,
    /// The job changed.
    Job,
    /// The live text changed.
    Text,
    /// The watch is over, early when there is a failure.
    End(Option<Failure>),
}

impl SessionState {
    /// Takes an item.
    pub fn apply(&mut self, item: Watched) -> Change {
        let changed = match item {
            Watched::Record { record, .. } => self.text.record(&record),
            Watched::Event { event } => self.text.event(&event.happened),
            Watched::Live { work, attempt, step, index, what, text } => {
                self.text.live(work, attempt, step.as_deref(), index, (&what, &text))
            }
            Watched::View { view } => {
                self.view = Some(*view);
                return Change::Job;
            }
            Watched::Heartbeat => false,
            Watched::End { error } => return Change::End(error.map(|error| *error)),
        };
        if changed { Change::Text } else { Change::Nothing }
    }

    /// The job, after the first view.
    #[must_use]
    pub fn view(&self) -> Option<&JobView> {
        self.view.as_ref()
    }

    /// The text of work in progress.
    #[must_use]
    pub fn text(&self) -> &LiveText {
        &self.text
    }

    /// An open question that was not given before.
    pub fn next_question(&mut self) -> Option<OpenQuestion> {
        let open = self.view.as_ref().map(open_questions).unwrap_or_default();
        open.into_iter().find(|open| self.shown.insert(open.key()))
    }

    /// Has [`SessionState::next_question`] give a question once more.
    pub fn ask_again(&mut self, question: &OpenQuestion) {
        self.shown.remove(&question.key());
    }

    /// Returns whether the question was open in the last update.
    #[must_use]
    pub fn is_open(&self, question: &OpenQuestion) -> bool {
        let is_in = |view| open_questions(view).iter().any(|open| open.key() == question.key());
        self.view.as_ref().is_none_or(is_in)
    }
}

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn view(questions: &Value) -> Watched {
        let view = json!({
            "job": "j", "state": "input-required", "goal": "g", "agent": "default", "language": "en",
            "questions": questions, "usage": {"input_tokens": 0, "output_tokens": 0}, "ignored": 0,
            "records": 1, "seq": 1, "created": "2026-03-01T09:00:00Z", "updated": "2026-03-01T09:00:00Z",
        });
        serde_json::from_value(json!({"type": "view", "view": view})).unwrap()
    }

    #[test]
    fn a_question_is_given_once_unless_it_is_to_be_asked_again() {
        let mut state = SessionState::default();
        let question = json!({"id": "q1", "prompt": "?", "kind": "question"});
        assert_eq!(state.apply(view(&json!([question]))), Change::Job);
        let open = state.next_question().unwrap();
        assert!(state.next_question().is_none() && state.is_open(&open));
        state.ask_again(&open);
        assert_eq!(state.next_question(), Some(open.clone()));
        state.apply(view(&json!([])));
        assert!(!state.is_open(&open) && state.next_question().is_none());
    }
}
