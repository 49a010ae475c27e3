//! The bucket of conversations, which lists the jobs that may belong to each conversation.
//!
//! A job is added before it is stored, so that no job is ever missing. Each job's own log decides
//! whether the job belongs to the conversation: readers skip an entry whose job was never stored or
//! names another conversation. An unreadable value counts as empty and is replaced.

use broker::kv::{Bucket, Kv, KvError};
use bytes::Bytes;
use proto::{
    error::{Code, Failure},
    id::{ConversationId, JobId},
};
use serde::{Deserialize, Serialize};

/// The maximum number of jobs in one list. The oldest are dropped first.
const JOBS_MAX: usize = 1_000;
/// The maximum number of attempts after compare-and-set conflicts.
const CONFLICTS_MAX: usize = 50;

/// The jobs that may belong to a conversation, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Members {
    /// The ids of the jobs.
    pub jobs: Vec<JobId>,
    /// The number of jobs that were dropped from the list or have left it.
    #[serde(default)]
    pub forgotten: u32,
}

/// Returns the jobs of a conversation, newest first, and whether the list once had others.
///
/// # Errors
/// `unavailable` when the bucket cannot be read.
pub async fn jobs(kv: &dyn Kv, id: &ConversationId) -> Result<(Vec<JobId>, bool), Failure> {
    let (Members { mut jobs, forgotten }, _) = read(kv, id).await.map_err(|e| unavailable(&e))?;
    jobs.reverse();
    Ok((jobs, forgotten > 0))
}

/// Adds a job to a conversation, and returns the jobs before it. Does not change a list that has
/// the job already.
///
/// # Errors
/// `unavailable` when the bucket cannot be read or written, or when too many jobs join at once.
pub async fn join(kv: &dyn Kv, id: &ConversationId, job: &JobId) -> Result<Members, Failure> {
    for _ in 0..CONFLICTS_MAX {
        let (mut members, revision) = read(kv, id).await.map_err(|e| unavailable(&e))?;
        if let Some(at) = members.jobs.iter().position(|member| member == job) {
            members.jobs.truncate(at);
            return Ok(members);
        }
        let before = members.clone();
        members.jobs.push(job.clone());
        while members.jobs.len() > JOBS_MAX {
            members.jobs.remove(0);
            members.forgotten = members.forgotten.saturating_add(1);
        }
        let written = serde_json::to_vec(&members)
            .map_err(|e| Failure::new(Code::Internal, e.to_string()))?;
        match kv.update(Bucket::Conversations, id.as_str(), Bytes::from(written), revision).await {
            Ok(_) => return Ok(before),
            Err(KvError::Conflict(_)) => {}
            Err(
                error @ (KvError::Unavailable(_) | KvError::Refused(_) | KvError::InvalidKey(_)),
            ) => {
                return Err(unavailable(&error));
            }
        }
    }
    let why = format!("too many jobs join the conversation {id} at once");
    Err(Failure::new(Code::Unavailable, why).at("conversation"))
}

/// Removes a job from a conversation, before the job's log is purged. The entry of the conversation
/// is deleted with its last job.
///
/// # Errors
/// The error of the bucket when it cannot be read or written.
pub async fn leave(kv: &dyn Kv, id: &ConversationId, job: &JobId) -> Result<(), KvError> {
    for _ in 0..CONFLICTS_MAX {
        let (mut members, revision) = read(kv, id).await?;
        let Some(at) = members.jobs.iter().position(|member| member == job) else { return Ok(()) };
        members.jobs.remove(at);
        members.forgotten = members.forgotten.saturating_add(1);
        let left = if members.jobs.is_empty() {
            kv.delete_at(Bucket::Conversations, id.as_str(), revision).await.map(|_| ())
        } else {
            let written = serde_json::to_vec(&members).unwrap_or_default();
            let update = kv.update(Bucket::Conversations, id.as_str(), written.into(), revision);
            update.await.map(|_| ())
        };
        match left {
            Err(KvError::Conflict(_)) => {}
            left => return left,
        }
    }
    Err(KvError::Conflict(id.to_string()))
}

async fn read(kv: &dyn Kv, id: &ConversationId) -> Result<(Members, u64), KvError> {
    let found = kv.get(Bucket::Conversations, id.as_str()).await?;
    let Some(found) = found else { return Ok((Members::default(), 0)) };
    let revision = found.revision;
    let members = serde_json::from_slice(&found.value).unwrap_or_else(|_| {
        tracing::error!(conversation = %id, revision, "the list of a conversation's jobs cannot be read; it starts empty");
        Members::default()
    });
    Ok((members, revision))
}

fn unavailable(error: &KvError) -> Failure {
    Failure::new(Code::Unavailable, error.to_string())
}
