//! A job that a conversation is about: its session, and the question that waits.

use client::{
    Client, WatchOptions,
    session::{AnswerDraft, Change, OpenQuestion, Session},
};
use proto::{
    door::Watched,
    event::{EventId, Happened},
    id::JobId,
    lang::Language,
};

use crate::chat::show::{self, Course};

/// A watched job.
pub(super) struct Front {
    pub(super) session: Session,
    /// Language of its texts, as far as it is known.
    pub(super) language: Option<Language>,
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
        Self { session, language: None, course: Course::default(), asked: None }
    }

    /// Applies an item of the job's watch.
    pub(super) fn apply(&mut self, item: Watched) -> Change {
        let is_view = matches!(item, Watched::View { .. });
        let change = self.session.state.apply(item);
        if let Some(view) = self.session.state.view().filter(|_| is_view) {
            self.language = Some(view.language);
        }
        change
    }

    /// Notes the language that an event names. The view that names it too follows the events.
    pub(super) fn hears(&mut self, happened: &Happened) {
        self.language = show::language(happened).or(self.language);
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
