//! A job that a conversation is about: its session, and the question that waits.

use client::{
    Client, WatchOptions,
    session::{AnswerDraft, OpenQuestion, Session},
};
use proto::{event::EventId, id::JobId};

use crate::chat::show::Course;

/// A watched job.
pub(super) struct Front {
    pub(super) session: Session,
    /// Progress of its plan displayed so far.
    pub(super) course: Course,
    /// The question that the next words answer: the job's own, or that of one that works for it.
    pub(super) asked: Option<Asked>,
}

/// A question, and the answer so far.
pub(super) struct Asked {
    pub(super) open: OpenQuestion,
    pub(super) draft: AnswerDraft,
}

impl Front {
    /// Watches a job from after an event.
    pub(super) fn new(client: &Client, job: JobId, after: EventId, live: bool) -> Self {
        let give_up_after = super::super::watch::PATIENCE;
        let options = WatchOptions { live, give_up_after, ..WatchOptions::events(after) };
        let session = Session::open(client, job, options);
        Self { session, course: Course::default(), asked: None }
    }

    /// Takes the next unseen question of the job or of a sub-agent as the one to answer. Also
    /// returns `true` if the previous question was closed elsewhere.
    pub(super) fn compare_questions(&mut self) -> (Option<OpenQuestion>, bool) {
        let state = &mut self.session.state;
        let closed = self.asked.as_ref().is_some_and(|asked| !state.is_open(&asked.open));
        if closed {
            self.asked = None;
        }
        if self.asked.is_some() {
            return (None, closed);
        }
        let fresh = state.next_question();
        self.asked = fresh
            .clone()
            .map(|open| Asked { draft: AnswerDraft::new(open.question.clone()), open });
        (fresh, closed)
    }
}
