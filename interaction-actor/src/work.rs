//! The upkeep of the inbox: a question is put in when it is asked, and taken out when it is settled.

use broker::{
    Broker,
    kv::{Bucket, KvError},
    log::LogError,
};
use machine::QuestionStatus;
use proto::id::{AskId, JobId};

use crate::{inbox, question_log::QuestionLog};

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
        let mut questions = QuestionLog::read(&*self.broker.log, job).await?;
        let key = inbox::key(job, ask);
        let Some(QuestionStatus::Open { question, asked }) = questions.question(ask) else {
            return Ok(self.broker.kv.delete(Bucket::Inbox, &key).await?);
        };
        let asking = questions.job();
        let (_, bytes) = inbox::entry(job, asking.parent(), asking.goal(), question, asked);
        self.broker.kv.put(Bucket::Inbox, &key, bytes).await?;
        // An answer or a note that came meanwhile has removed an entry that was not there yet. A
        // look after the entry is there leaves no gap between the two.
        questions.catch_up(&*self.broker.log).await?;
        match questions.question(ask) {
            Some(QuestionStatus::Open { .. }) => Ok(()),
            Some(QuestionStatus::Answered { .. } | QuestionStatus::Closed { .. }) | None => {
                Ok(self.broker.kv.delete(Bucket::Inbox, &key).await?)
            }
        }
    }

    /// Takes a question out of the inbox.
    pub(crate) async fn remove(&self, job: &JobId, ask: &AskId) -> Result<(), NotKept> {
        Ok(self.broker.kv.delete(Bucket::Inbox, &inbox::key(job, ask)).await?)
    }
}
