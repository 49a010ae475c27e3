//! Questions that wait for a person, of a job and of those that work for it, each with whose it is. It
//! never says which is to be answered first.

use proto::{
    id::{AskId, JobId},
    interaction::Question,
    view::JobView,
};

/// A question that waits for a person.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OpenQuestion {
    /// Whose it is: that is where it is answered.
    pub(crate) job: JobId,
    /// Where that is, for people, when it is below the job that is looked at.
    pub(crate) path: Option<String>,
    /// The question.
    pub(crate) question: Question,
}

impl OpenQuestion {
    /// What tells it apart from all others.
    pub(crate) fn key(&self) -> (JobId, AskId) {
        (self.job.clone(), self.question.id.clone())
    }
}

/// Those of a job, then those of jobs that work for it. Nobody waits for these once it has ended.
pub(crate) fn of(view: &JobView) -> Vec<OpenQuestion> {
    let own = view.questions.iter().map(|question| OpenQuestion {
        job: view.job.clone(),
        path: None,
        question: question.clone(),
    });
    let children = view.children.iter().filter(|_| view.outcome.is_none());
    let below = children.flat_map(|child| &child.questions).map(|below| OpenQuestion {
        job: below.job.clone(),
        path: Some(below.path.clone()),
        question: below.question.clone(),
    });
    own.chain(below).collect()
}
