//! Futures that wait until a question is settled, wherever it is answered. Many may wait for one job at
//! the cost of one watch of its log; the watch ends with the last of them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use broker::{Broker, log::LogError};
use futures::StreamExt;
use machine::QuestionStatus;
use proto::{
    decision::Closed,
    fact::Answered,
    id::{AskId, JobId},
};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::question_log::QuestionLog;

/// Wait before a watch that broke is opened again.
const REOPEN: Duration = Duration::from_millis(250);

/// The end of a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Settled {
    /// With this answer.
    Answered(Box<Answered>),
    /// Without one.
    Closed(Closed),
}

/// Lets futures wait for questions. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Waiters {
    broker: Broker,
    jobs: Arc<Mutex<HashMap<JobId, Weak<Watched>>>>,
}

#[derive(Debug)]
struct Watched {
    questions: watch::Receiver<QuestionLog>,
    _task: AbortOnDropHandle<()>,
}

impl Waiters {
    /// Waiters of an installation.
    #[must_use]
    pub fn new(broker: Broker) -> Self {
        Self { broker, jobs: Arc::default() }
    }

    /// Waits until a question is settled, however long that takes; a question that is not asked yet
    /// is waited for too. Dropping the future ends the wait.
    pub async fn settled(&self, job: &JobId, ask: &AskId) -> Settled {
        let watched = self.watched(job);
        let mut questions = watched.questions.clone();
        loop {
            match questions.borrow_and_update().question(ask) {
                Some(QuestionStatus::Answered { winner, .. }) => {
                    return Settled::Answered(Box::new(winner.as_ref().clone()));
                }
                Some(QuestionStatus::Closed { because }) => return Settled::Closed(because),
                Some(QuestionStatus::Open { .. }) | None => {}
            }
            if questions.changed().await.is_err() {
                // The task never ends by itself; it can only be gone with its runtime.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Jobs that are watched now.
    #[must_use]
    pub fn jobs(&self) -> usize {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.values().filter(|watched| watched.strong_count() > 0).count()
    }

    fn watched(&self, job: &JobId) -> Arc<Watched> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watched) = jobs.get(job).and_then(Weak::upgrade) {
            return watched;
        }
        jobs.retain(|_, watched| watched.strong_count() > 0);
        let (say, questions) = watch::channel(QuestionLog::new(job.clone()));
        let task = tokio::spawn(follow(self.broker.clone(), job.clone(), say));
        let watched = Arc::new(Watched { questions, _task: AbortOnDropHandle::new(task) });
        jobs.insert(job.clone(), Arc::downgrade(&watched));
        watched
    }
}

/// Keeps the questions of a job current until nobody waits for them any more.
async fn follow(broker: Broker, job: JobId, questions: watch::Sender<QuestionLog>) {
    loop {
        if let Err(error) = follow_once(&broker, &job, &questions).await {
            tracing::debug!(%job, %error, "a job cannot be watched; retrying");
        }
        tokio::time::sleep(REOPEN).await;
    }
}

async fn follow_once(
    broker: &Broker,
    job: &JobId,
    questions: &watch::Sender<QuestionLog>,
) -> Result<(), LogError> {
    let after = questions.borrow().job().seq();
    let mut entries = broker.log.watch(job, after).await?;
    while let Some(entry) = entries.next().await {
        let (entry, mut current) = (entry?, true);
        questions.send_modify(|questions| current = questions.take(&entry));
        if !current {
            questions.send_replace(QuestionLog::read(&*broker.log, job).await?);
        }
    }
    Ok(())
}
