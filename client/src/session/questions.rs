//! The questions of a job, and of its sub-agents' jobs, that wait for a person.

use proto::{
    id::{AskId, JobId},
    interaction::Question,
    view::JobView,
};

/// A question that waits for a person.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenQuestion {
    /// The job that asks, and takes the answer.
    pub job: JobId,
    /// The place of a job below the watched one, for people.
    pub path: Option<String>,
    /// The question.
    pub question: Question,
}

impl OpenQuestion {
    /// Its identity among the questions of all jobs.
    #[must_use]
    pub fn key(&self) -> (JobId, AskId) {
        (self.job.clone(), self.question.id.clone())
    }
}

/// The questions of a job, then those of the jobs below it. The latter end with the job.
#[must_use]
pub fn open_questions(view: &JobView) -> Vec<OpenQuestion> {
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
