//! The open questions of a job and of its sub-agents, each with the job that asks. It implies no
//! order of answering.

use proto::{
    id::{AskId, JobId},
    interaction::Question,
    view::JobView,
};

/// A question that waits for a person.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OpenQuestion {
    /// The job that asks, to which the answer is sent.
    pub(crate) job: JobId,
    /// Path of that job below the displayed one; absent for the displayed job itself.
    pub(crate) path: Option<String>,
    pub(crate) question: Question,
}

impl OpenQuestion {
    /// Identifies the question among all jobs.
    pub(crate) fn key(&self) -> (JobId, AskId) {
        (self.job.clone(), self.question.id.clone())
    }
}

/// Returns the questions of a job, then those of its sub-agents unless the job has ended.
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
