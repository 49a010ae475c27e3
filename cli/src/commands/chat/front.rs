//! The job in front of a conversation: its watched state and its open question.

use std::{collections::BTreeSet, pin::Pin};

use client::{Client, EventOptions};
use futures::{Stream, StreamExt};
use proto::{
    door::Watched,
    error::Failure,
    event::EventId,
    id::{AskId, JobId},
};

use crate::{
    answer::open::{self, OpenQuestion},
    chat::{answering::Answering, show::Course},
    live::follow::Follow,
};

type Items = Pin<Box<dyn Stream<Item = Result<Watched, Failure>> + Send>>;

/// A watched job.
pub(super) struct Front {
    pub(super) job: JobId,
    pub(super) follow: Follow,
    /// Progress of its plan displayed so far.
    pub(super) course: Course,
    /// The question that the next text answers.
    pub(super) asked: Option<Answering>,
    /// The job that asks that question: the job itself or one of its sub-agents.
    pub(super) of: JobId,
    seen: BTreeSet<(JobId, AskId)>,
    items: Items,
}

impl Front {
    /// Watches a job from after an event.
    pub(super) fn new(client: &Client, job: JobId, after: EventId, live: bool) -> Self {
        let options = EventOptions { after, live, patience: super::super::watch::PATIENCE };
        let items: Items = Box::pin(client.events(&job, options));
        let (follow, course, of) = (Follow::default(), Course::default(), job.clone());
        Self { job, follow, course, asked: None, of, seen: BTreeSet::new(), items }
    }

    /// Waits for the next item; `None` at the end. Cancellation safe.
    pub(super) async fn next(&mut self) -> Option<Result<Watched, Failure>> {
        self.items.next().await
    }

    /// Takes the next unseen question of the job or of a sub-agent as the one to answer. Also
    /// returns `true` if the previous question was closed elsewhere.
    pub(super) fn look(&mut self) -> (Option<OpenQuestion>, bool) {
        let open = self.follow.view().map(open::of).unwrap_or_default();
        let is_open = |asked: &Answering| {
            open.iter().any(|open| open.job == self.of && open.question.id == asked.question().id)
        };
        let closed = self.asked.as_ref().is_some_and(|asked| !is_open(asked));
        if closed {
            self.asked = None;
        }
        if self.asked.is_some() {
            return (None, closed);
        }
        let fresh = open.into_iter().find(|asked| self.seen.insert(asked.key()));
        if let Some(fresh) = &fresh {
            self.of.clone_from(&fresh.job);
            self.asked = Some(Answering::new(fresh.question.clone()));
        }
        (fresh, closed)
    }
}
