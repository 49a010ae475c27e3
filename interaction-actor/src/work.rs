//! The upkeep of the inbox: a question is added when the job asks it, and removed when it is
//! settled.

use broker::{
    Broker,
    kv::{Bucket, KvError},
    log::LogError,
};
use machine::QuestionStatus;
use proto::id::{AskId, JobId};

use crate::{inbox, question_log::QuestionLog};

/// Adds questions to the inbox of an installation, and removes them.
#[derive(Debug)]
pub(crate) struct InboxKeeper {
    pub(crate) broker: Broker,
}

/// A failed update of the inbox.
#[derive(Debug, thiserror::Error)]
pub enum NotKept {
    /// The job's log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The bucket cannot be used.
    #[error(transparent)]
    Kv(#[from] KvError),
}

impl InboxKeeper {
    /// Adds a question to the inbox, unless the job's log says that it is no longer open.
    pub(crate) async fn put(&self, job: &JobId, ask: &AskId) -> Result<(), NotKept> {
        let mut questions = QuestionLog::read(&*self.broker.log, job).await?;
        let key = inbox::key(job, ask);
        let Some(QuestionStatus::Open { question, asked }) = questions.question(ask) else {
            return Ok(self.broker.kv.delete(Bucket::Inbox, &key).await?);
        };
        let asking = questions.job();
        let (_, bytes) = inbox::entry(job, asking.parent(), asking.goal(), question, asked);
        self.broker.kv.put(Bucket::Inbox, &key, bytes).await?;
        // An answer or note stored meanwhile may have removed the entry before it was written.
        // Reading the log again after the write closes that gap.
        questions.catch_up(&*self.broker.log).await?;
        match questions.question(ask) {
            Some(QuestionStatus::Open { .. }) => Ok(()),
            Some(QuestionStatus::Answered { .. } | QuestionStatus::Closed { .. }) | None => {
                Ok(self.broker.kv.delete(Bucket::Inbox, &key).await?)
            }
        }
    }

    /// Removes a question from the inbox.
    pub(crate) async fn remove(&self, job: &JobId, ask: &AskId) -> Result<(), NotKept> {
        Ok(self.broker.kv.delete(Bucket::Inbox, &inbox::key(job, ask)).await?)
    }
}
