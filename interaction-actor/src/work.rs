//! What the pool of people is told: a question to put into the inbox, or one to take out.

use std::time::Duration;

use async_trait::async_trait;
use broker::{
    Broker,
    kv::{Bucket, KvError},
    log::LogError,
};
use proto::{
    decision::{Decision, Note},
    fact::Fact,
    id::{AskId, JobId, Seq},
};
use runtime::worker::{Task, Work};

use crate::{
    inbox,
    ledger::{Ledger, Standing},
};

/// First wait before the inbox is tried again.
const RETRY: Duration = Duration::from_millis(100);
/// Longest such wait.
const RETRY_MAX: Duration = Duration::from_secs(5);

/// Keeps the inbox. Takes `do.ask.people` and `do.note.people`; runs in a pool for each.
#[derive(Debug, Clone)]
pub struct Asking {
    broker: Broker,
}

#[derive(Debug, thiserror::Error)]
enum NotKept {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Kv(#[from] KvError),
}

impl Asking {
    /// Keeps the inbox of an installation.
    #[must_use]
    pub fn new(broker: Broker) -> Self {
        Self { broker }
    }

    /// Puts a question into the inbox, unless its job's log says that it is not open any more.
    async fn put(&self, job: &JobId, ask: &AskId) -> Result<(), NotKept> {
        let entries = self.broker.log.read(job, Seq(0)).await?;
        let mut ledger = Ledger::of(&entries);
        let key = inbox::key(job, ask);
        let Some(Standing::Open { question, asked }) = ledger.standing(ask) else {
            return Ok(self.broker.kv.delete(Bucket::Inbox, &key).await?);
        };
        let goal = ledger.goal.clone().unwrap_or_default();
        let (_, bytes) = inbox::entry(job, ledger.parent.as_ref(), &goal, question, *asked);
        self.broker.kv.put(Bucket::Inbox, &key, bytes).await?;
        // It may have been answered or closed meanwhile, and whoever did that has removed what was
        // not there yet. Looking again after the entry is there leaves no gap between the two.
        for entry in self.broker.log.read(job, ledger.seq).await? {
            ledger.apply(&entry);
        }
        match ledger.standing(ask) {
            Some(Standing::Open { .. }) => Ok(()),
            Some(Standing::Answered { .. } | Standing::Closed { .. }) | None => {
                Ok(self.broker.kv.delete(Bucket::Inbox, &key).await?)
            }
        }
    }

    async fn remove(&self, job: &JobId, ask: &AskId) -> Result<(), NotKept> {
        Ok(self.broker.kv.delete(Bucket::Inbox, &inbox::key(job, ask)).await?)
    }

    async fn once(&self, task: &Task) -> Result<(), NotKept> {
        match &task.decision {
            Decision::Ask(work) => self.put(&task.job, &work.question.id).await,
            Decision::Note(Note::QuestionClosed { ask, .. }) => self.remove(&task.job, ask).await,
            Decision::Plan(_)
            | Decision::Turn(_)
            | Decision::Call(_)
            | Decision::Note(Note::Stopped { .. })
            | Decision::Wait(_)
            | Decision::Spawn(_)
            | Decision::Note(
                Note::Spawned { .. }
                | Note::ChildTold { .. }
                | Note::ParentTold { .. }
                | Note::Held { .. }
                | Note::Concluded { .. },
            )
            | Decision::Finish(_) => Ok(()),
        }
    }
}

#[async_trait]
impl Work for Asking {
    fn name(&self) -> &'static str {
        "inbox"
    }

    /// Never gives up while the broker cannot be reached: a question that nobody sees would park
    /// its job for ever.
    async fn run(&self, task: Task) -> Option<Fact> {
        let mut wait = RETRY;
        while let Err(error) = self.once(&task).await {
            tracing::warn!(job = %task.job, %error, "the inbox could not be kept; trying again");
            tokio::select! {
                biased;
                () = tokio::time::sleep(wait) => {}
                () = task.canceled.cancelled() => return None,
            }
            wait = (wait * 2).min(RETRY_MAX);
        }
        None
    }

    /// A question is never given up, however often it was handed out: nobody else would answer it.
    fn lost(&self, _: &Decision, _: u64) -> Option<Fact> {
        None
    }

    fn broken(&self, _: &Decision, _: &str) -> Option<Fact> {
        None
    }
}
