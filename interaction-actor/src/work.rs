//! The upkeep of the inbox: a question is put in when it is asked, and taken out when it is settled.

use broker::{
    Broker,
    kv::{Bucket, KvError},
    log::LogError,
};
use proto::id::{AskId, JobId, Seq};

use crate::{
    inbox,
    ledger::{Ledger, Standing},
};

/// Puts questions into the inbox of an installation, and takes them out.
#[derive(Debug)]
pub(crate) struct InboxKeeper {
    pub(crate) broker: Broker,
}

/// The inbox could not be changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotKept {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Kv(#[from] KvError),
}

impl InboxKeeper {
    /// Puts a question into the inbox, unless its job's log says that it is not open any more.
    pub(crate) async fn put(&self, job: &JobId, ask: &AskId) -> Result<(), NotKept> {
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

    /// Takes a question out of the inbox.
    pub(crate) async fn remove(&self, job: &JobId, ask: &AskId) -> Result<(), NotKept> {
        Ok(self.broker.kv.delete(Bucket::Inbox, &inbox::key(job, ask)).await?)
    }
}
