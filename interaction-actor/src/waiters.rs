//! Futures that wait for a question to be settled, wherever it is answered. Many may wait for one
//! job at the cost of one watch of its log; when the last one goes, so does the watch.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use broker::Broker;
use futures::StreamExt;
use proto::{
    decision::Closed,
    fact::Answered,
    id::{AskId, JobId},
};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::ledger::{Ledger, Standing};

/// Wait before a watch that broke is opened again.
const REOPEN: Duration = Duration::from_millis(250);

/// How a question was settled.
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
    ledger: watch::Receiver<Ledger>,
    _task: AbortOnDropHandle<()>,
}

impl Waiters {
    /// Nobody waits yet.
    #[must_use]
    pub fn new(broker: Broker) -> Self {
        Self { broker, jobs: Arc::default() }
    }

    /// Waits until a question is settled, however long that takes; a question that is not asked yet
    /// is waited for too. Dropping the future ends the wait.
    pub async fn settled(&self, job: &JobId, ask: &AskId) -> Settled {
        let watched = self.watched(job);
        let mut ledger = watched.ledger.clone();
        loop {
            let standing = ledger.borrow_and_update().standing(ask).cloned();
            match standing {
                Some(Standing::Answered { winner, .. }) => return Settled::Answered(winner),
                Some(Standing::Closed { because }) => return Settled::Closed(because),
                Some(Standing::Open { .. }) | None => {}
            }
            if ledger.changed().await.is_err() {
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
        let (say, ledger) = watch::channel(Ledger::default());
        let task = tokio::spawn(follow(self.broker.clone(), job.clone(), say));
        let watched = Arc::new(Watched { ledger, _task: AbortOnDropHandle::new(task) });
        jobs.insert(job.clone(), Arc::downgrade(&watched));
        watched
    }
}

/// Keeps a ledger current until nobody looks at it any more.
async fn follow(broker: Broker, job: JobId, ledger: watch::Sender<Ledger>) {
    loop {
        let after = ledger.borrow().seq;
        match broker.log.watch(&job, after).await {
            Ok(mut entries) => {
                while let Some(entry) = entries.next().await {
                    match entry {
                        Ok(entry) => ledger.send_modify(|ledger| ledger.apply(&entry)),
                        Err(error) => {
                            tracing::debug!(%job, %error, "a watch broke; opening it again");
                            break;
                        }
                    }
                }
            }
            Err(error) => tracing::debug!(%job, %error, "a job cannot be watched; trying again"),
        }
        tokio::time::sleep(REOPEN).await;
    }
}
