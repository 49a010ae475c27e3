//! The files of a job, for the tools that use them: those attached to it, those that a call publishes,
//! and the owner of its workspace. The first and the last are in the job's first record. That record
//! alone is read, and only when a tool asks for it: a log may have 10,000 records.

use std::{collections::BTreeSet, fmt};

use broker::{Broker, objects::ObjectError};
use bytes::Bytes;
use proto::{
    entry::Entry,
    fact::Submitted,
    file::{Content, File, FileName, Piece},
    id::JobId,
    limits::PIECE_BYTES_MAX,
};
use runtime::worker::read_first;

use crate::{tool::ToolFault, workspace::Owner};

/// The attached files of one job, or an empty set outside of a job. Cheap to clone.
#[derive(Clone, Default)]
pub struct JobFiles(Option<(Broker, JobId)>);

impl fmt::Debug for JobFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JobFiles").field(&self.0.as_ref().map(|(_, job)| job)).finish()
    }
}

impl JobFiles {
    /// Returns the files of a job. Reads nothing yet.
    #[must_use]
    pub fn of(broker: &Broker, job: &JobId) -> Self {
        Self(Some((broker.clone(), job.clone())))
    }

    /// Lists the files in the order of the submission; models refer to them by number, from 1.
    ///
    /// # Errors
    /// If the job's first record cannot be read.
    pub async fn list(&self) -> Result<Vec<File>, ToolFault> {
        let Some((broker, job)) = &self.0 else { return Ok(Vec::new()) };
        let submitted = submission(broker, job).await?.ok_or_else(|| {
            ToolFault::internal("the job's first record is not a submission that can be read")
        })?;
        Ok(submitted.files)
    }

    /// Returns the owner of the workspace of `job`: its conversation, or else the job itself. A
    /// sub-agent's job works in the workspace of the job at the root of its family, and a fork in
    /// that of the job that it was forked from.
    ///
    /// # Errors
    /// If the first record of one of these jobs cannot be read.
    pub async fn owner(&self, job: &JobId) -> Result<Owner, ToolFault> {
        let mut owner = job.clone();
        let Some((broker, _)) = &self.0 else { return Ok(Owner::Job(owner)) };
        // The id of a job that was purged may be used again, by a fork of its own forks too.
        let mut seen = BTreeSet::new();
        while seen.insert(owner.clone()) {
            // A job that was purged has left its workspace to its forks.
            let Some(submitted) = submission(broker, &owner).await? else { break };
            owner = match (submitted.parent, submitted.forked, submitted.conversation) {
                (Some(parent), ..) => parent.root,
                (None, Some(forked), _) => forked.job,
                (None, None, Some(conversation)) => {
                    return Ok(Owner::Conversation(conversation.id));
                }
                (None, None, None) => break,
            };
        }
        Ok(Owner::Job(owner))
    }

    /// Stores the content of a file that the job is to have. The job has it once the result of a call
    /// names it.
    ///
    /// # Errors
    /// If the call is not one of a job, or the object store is unreachable or full.
    pub async fn store(
        &self,
        name: FileName,
        media_type: Option<String>,
        content: Vec<u8>,
    ) -> Result<File, ToolFault> {
        let Some((broker, _)) = &self.0 else {
            return Err(ToolFault::internal("the call belongs to no job"));
        };
        let mut pieces = Vec::with_capacity(content.len().div_ceil(PIECE_BYTES_MAX));
        let mut rest = Bytes::from(content);
        while !rest.is_empty() {
            let bytes = rest.split_to(rest.len().min(PIECE_BYTES_MAX));
            let length = bytes.len() as u64;
            let sha256 = broker.objects.put(bytes).await.map_err(|error| match error {
                ObjectError::Missing(_) => ToolFault::internal(error.to_string()),
                ObjectError::Unavailable(_) | ObjectError::Full(_) => {
                    ToolFault::unavailable(error.to_string())
                }
            })?;
            pieces.push(Piece { sha256, bytes: length });
        }
        Ok(File { name, media_type, content: Content::Pieces(pieces) })
    }

    /// Reads the content of a file.
    ///
    /// # Errors
    /// If a piece is missing, or the object store is unreachable.
    pub async fn read(&self, pieces: &[Piece]) -> Result<Vec<u8>, ToolFault> {
        let Some((broker, _)) = &self.0 else { return Ok(Vec::new()) };
        let mut content = Vec::new();
        for piece in pieces {
            let bytes = broker.objects.get(&piece.sha256).await.map_err(|error| match error {
                ObjectError::Missing(_) => ToolFault::internal(error.to_string()),
                ObjectError::Unavailable(_) | ObjectError::Full(_) => {
                    ToolFault::unavailable(error.to_string())
                }
            })?;
            content.extend_from_slice(&bytes);
        }
        Ok(content)
    }
}

/// Reads a job's submission; `None` if it is missing or cannot be read.
async fn submission(broker: &Broker, job: &JobId) -> Result<Option<Submitted>, ToolFault> {
    let first = read_first(&*broker.log, job)
        .await
        .map_err(|e| ToolFault::internal(format!("the job's log could not be read: {e}")))?;
    Ok(first.as_ref().and_then(Entry::submission))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use broker::{
        log::{Composed, Log, LogError, Reader},
        memory::{self, MemoryOptions},
        testing::jobs::submitted,
    };
    use futures::stream::BoxStream;
    use proto::{
        conversation::Conversation,
        fact::Fact,
        family::Parent,
        fork::Forked,
        id::{Attempt, ConversationId, Seq, Shard, WorkId},
        subject::Subjects,
        trace::TraceContext,
    };
    use rstest::rstest;

    use super::*;

    fn id(name: &str) -> JobId {
        JobId::new(name).unwrap()
    }

    fn talk() -> ConversationId {
        ConversationId::new("talk").unwrap()
    }

    fn fork_of(job: &str) -> Submitted {
        let forked = Forked { job: id(job), seq: Seq(1), records: Vec::new() };
        Submitted { forked: Some(Box::new(forked)), ..submitted("g") }
    }

    fn child_of(root: &str) -> Submitted {
        let parent = Parent {
            job: id("between"),
            work: WorkId::new("g0.r0.a").unwrap(),
            attempt: Attempt::FIRST,
            root: id(root),
            path: "root/a/b".to_owned(),
            depth: 2,
        };
        Submitted { parent: Some(parent), ..submitted("g") }
    }

    /// A log that refuses to be read as a whole.
    struct FirstAlone(Arc<dyn Log>);

    #[async_trait]
    impl Reader for FirstAlone {
        fn subjects(&self) -> &Subjects {
            self.0.subjects()
        }

        async fn read(&self, _: &JobId, _: Seq) -> Result<Vec<Entry>, LogError> {
            Err(LogError::Invalid("the whole log was read".to_owned()))
        }

        async fn first(&self, job: &JobId) -> Result<Option<Entry>, LogError> {
            self.0.first(job).await
        }

        async fn watch(
            &self,
            job: &JobId,
            after: Seq,
        ) -> Result<BoxStream<'static, Result<Entry, LogError>>, LogError> {
            self.0.watch(job, after).await
        }

        async fn submissions(
            &self,
            shard: Shard,
            before: Option<Seq>,
            limit: usize,
        ) -> Result<Vec<Entry>, LogError> {
            self.0.submissions(shard, before, limit).await
        }

        async fn finished_among(&self, jobs: &[JobId]) -> Result<BTreeSet<JobId>, LogError> {
            self.0.finished_among(jobs).await
        }
    }

    #[tokio::test]
    async fn the_files_and_the_workspace_of_a_job_take_no_more_than_its_first_record() {
        let broker = memory::start(Subjects::new("cb", 1).unwrap(), MemoryOptions::default());
        for (job, submitted) in [("alone", submitted("g")), ("fork", fork_of("alone"))] {
            let fact = Fact::Submitted(submitted);
            broker.log.submit(&id(job), &fact, TraceContext::new(1, 1, false)).await.unwrap();
        }
        let log = Arc::clone(&broker.log);
        let reader = Arc::new(FirstAlone(Arc::clone(&log)));
        let log = Arc::new(Composed { reader, ..Composed::from(log) });
        let files = JobFiles::of(&Broker { log, ..broker }, &id("fork"));
        assert_eq!(files.owner(&id("fork")).await.unwrap(), Owner::Job(id("alone")));
        assert!(files.list().await.unwrap().is_empty());
    }

    #[rstest]
    #[case::a_job_of_its_own("alone", Owner::Job(id("alone")))]
    #[case::of_a_conversation("talking", Owner::Conversation(talk()))]
    #[case::of_a_sub_agent("child", Owner::Job(id("alone")))]
    #[case::of_a_sub_agent_in_a_conversation("talking-child", Owner::Conversation(talk()))]
    #[case::a_fork("fork", Owner::Job(id("alone")))]
    #[case::a_fork_of_a_fork("fork-of-fork", Owner::Job(id("alone")))]
    #[case::a_fork_of_a_sub_agent("fork-of-child", Owner::Job(id("alone")))]
    #[case::a_fork_of_a_conversation("fork-of-talking", Owner::Conversation(talk()))]
    #[case::a_fork_of_a_purged_job("fork-of-purged", Owner::Job(id("purged")))]
    #[case::a_circle_of_ids_used_again("used-again", Owner::Job(id("used-again")))]
    #[tokio::test]
    async fn a_workspace_has_one_owner(#[case] job: &str, #[case] owner: Owner) {
        let broker = memory::start(Subjects::new("cb", 1).unwrap(), MemoryOptions::default());
        let conversation = Conversation { id: talk(), earlier: Vec::new(), omitted: 0 };
        for (job, submitted) in [
            ("alone", submitted("g")),
            ("talking", Submitted { conversation: Some(conversation), ..submitted("g") }),
            ("child", child_of("alone")),
            ("talking-child", child_of("talking")),
            ("fork", fork_of("alone")),
            ("fork-of-fork", fork_of("fork")),
            ("fork-of-child", fork_of("child")),
            ("fork-of-talking", fork_of("talking")),
            ("fork-of-purged", fork_of("purged")),
            ("used-again", fork_of("its-fork")),
            ("its-fork", fork_of("used-again")),
        ] {
            let fact = Fact::Submitted(submitted);
            broker.log.submit(&id(job), &fact, TraceContext::new(1, 1, false)).await.unwrap();
        }
        assert_eq!(JobFiles::of(&broker, &id(job)).owner(&id(job)).await.unwrap(), owner);
    }
}
