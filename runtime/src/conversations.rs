//! The bucket of conversations: the jobs that may belong to each of them.
//!
//! A job is put there before it is stored, so that none is ever missing. Each job's own log decides
//! whether it belongs to the conversation: an entry whose job was never stored, or names another
//! conversation, is skipped. A value that cannot be read names no job and is replaced.

use broker::kv::{Bucket, Kv, KvError};
use bytes::Bytes;
use proto::{
    error::{Code, Failure},
    id::{ConversationId, JobId},
};
use serde::{Deserialize, Serialize};

/// Jobs kept for a conversation; the oldest are forgotten first.
const JOBS_MAX: usize = 1_000;
/// Attempts at a write that others were ahead of.
const CONFLICTS_MAX: usize = 50;

/// The jobs that may belong to a conversation, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Members {
    /// The jobs.
    pub jobs: Vec<JobId>,
    /// The number of older ones that are forgotten.
    #[serde(default)]
    pub forgotten: u32,
}

/// The jobs of a conversation, newest first, and whether older ones are forgotten.
///
/// # Errors
/// When the bucket cannot be read.
pub async fn jobs(kv: &dyn Kv, id: &ConversationId) -> Result<(Vec<JobId>, bool), Failure> {
    let (Members { mut jobs, forgotten }, _) = read(kv, id).await.map_err(|e| unavailable(&e))?;
    jobs.reverse();
    Ok((jobs, forgotten > 0))
}

/// Puts a job into a conversation and gives the members before it.
///
/// # Errors
/// When the bucket cannot be read or written.
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
            Err(error @ (KvError::Unavailable(_) | KvError::InvalidKey(_))) => {
                return Err(unavailable(&error));
            }
        }
    }
    let why = format!("too many jobs join the conversation {id} at once");
    Err(Failure::new(Code::Unavailable, why).at("conversation"))
}

/// Takes a job out of a conversation, because its log is about to be removed. What is kept of the
/// conversation goes with the last of its jobs.
///
/// # Errors
/// What the bucket says when it cannot be read or written.
pub async fn leave(kv: &dyn Kv, id: &ConversationId, job: &JobId) -> Result<(), KvError> {
    for _ in 0..CONFLICTS_MAX {
        let (mut members, revision) = read(kv, id).await?;
        let Some(at) = members.jobs.iter().position(|member| member == job) else { return Ok(()) };
        members.jobs.remove(at);
        members.forgotten = members.forgotten.saturating_add(1);
        let left = if members.jobs.is_empty() {
            kv.delete_at(Bucket::Conversations, id.as_str(), revision).await
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
