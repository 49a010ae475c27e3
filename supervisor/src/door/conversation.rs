//! Conversations: which jobs belong to one, and what the next one is told of them.
//!
//! A bucket says which jobs may belong to a conversation; a job is put there before it is stored, so
//! that none is ever missing. What counts is each job's own log: an entry whose job was never
//! stored, or says otherwise, is passed over. What is carried over is read once, when a job is
//! submitted, and stored with it.

use broker::{
    kv::{Bucket, Kv, KvError},
    log::Log,
};
use bytes::Bytes;
use futures::{StreamExt, stream};
use proto::{
    conversation::{Conversation, Exchange, Memory},
    error::{Code, Failure},
    id::{ConversationId, JobId, Seq},
    job::Outcome,
    view::JobView,
};
use serde::{Deserialize, Serialize};

use super::fold;

/// Jobs of one conversation that are kept in sight; the oldest are forgotten first.
const JOBS_MAX: usize = 1_000;
/// Times that somebody else may have been first.
const CONFLICTS_MAX: usize = 50;
/// Most bytes that are carried over.
const CARRIED_BYTES_MAX: usize = 96 * 1024;
/// Logs that are read at a time.
const AT_A_TIME: usize = 8;

/// The jobs that may belong to a conversation, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Members {
    jobs: Vec<JobId>,
    /// How many there were before those.
    #[serde(default)]
    forgotten: u32,
}

/// Puts a job into a conversation and says what it is told of the jobs before it.
///
/// # Errors
/// What the broker says when it cannot be read or written.
pub(super) async fn join(
    log: &dyn Log,
    kv: &dyn Kv,
    id: &ConversationId,
    job: &JobId,
    memory: &Memory,
) -> Result<Conversation, Failure> {
    let Members { jobs, forgotten } = before(kv, id, job).await?;
    let (earlier, unread) = carried(log, id, &jobs, memory).await?;
    let omitted = forgotten.saturating_add(u32::try_from(unread).unwrap_or(u32::MAX));
    Ok(Conversation { id: id.clone(), earlier, omitted })
}

/// The jobs of a conversation, newest first, and whether older ones are forgotten.
pub(super) async fn jobs(kv: &dyn Kv, id: &ConversationId) -> Result<(Vec<JobId>, bool), Failure> {
    let (Members { mut jobs, forgotten }, _) = read(kv, id).await?;
    jobs.reverse();
    Ok((jobs, forgotten > 0))
}

/// The members before a job, which is one from now on.
async fn before(kv: &dyn Kv, id: &ConversationId, job: &JobId) -> Result<Members, Failure> {
    for _ in 0..CONFLICTS_MAX {
        let (mut members, revision) = read(kv, id).await?;
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
pub(crate) async fn leave(kv: &dyn Kv, id: &ConversationId, job: &JobId) -> Result<(), KvError> {
    for _ in 0..CONFLICTS_MAX {
        // What cannot be read names nobody.
        let Ok((mut members, revision)) = read(kv, id).await else { return Ok(()) };
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

async fn read(kv: &dyn Kv, id: &ConversationId) -> Result<(Members, u64), Failure> {
    let found = kv.get(Bucket::Conversations, id.as_str()).await.map_err(|e| unavailable(&e))?;
    let Some(found) = found else { return Ok((Members::default(), 0)) };
    let members = serde_json::from_slice(&found.value).map_err(|error| {
        let why = format!("what is kept of the conversation {id} cannot be read: {error}");
        Failure::new(Code::Internal, why).at("conversation")
    })?;
    Ok((members, found.revision))
}

fn unavailable(error: &KvError) -> Failure {
    Failure::new(Code::Unavailable, error.to_string())
}

/// What is carried over of these jobs, oldest first, and of how many nothing is.
async fn carried(
    log: &dyn Log,
    id: &ConversationId,
    jobs: &[JobId],
    memory: &Memory,
) -> Result<(Vec<Exchange>, usize), Failure> {
    let wanted = usize::try_from(memory.exchanges).unwrap_or(usize::MAX);
    if wanted == 0 {
        return Ok((Vec::new(), jobs.len()));
    }
    let mut exchanges = Vec::new();
    let (mut looked_at, mut bytes) = (0, 0);
    let mut newest_first = stream::iter(jobs.iter().rev().cloned())
        .map(|job| exchange(log, id, job, memory))
        .buffered(AT_A_TIME.min(wanted));
    while exchanges.len() < wanted
        && let Some(found) = newest_first.next().await
    {
        if let Some(exchange) = found? {
            bytes += exchange.goal.len() + exchange.response.len() + exchange.results.len();
            if bytes > CARRIED_BYTES_MAX {
                break;
            }
            exchanges.push(exchange);
        }
        looked_at += 1;
    }
    exchanges.reverse();
    Ok((exchanges, jobs.len() - looked_at))
}

/// What a later job is told of one; nothing when it was never stored, or is of no such conversation.
async fn exchange(
    log: &dyn Log,
    id: &ConversationId,
    job: JobId,
    memory: &Memory,
) -> Result<Option<Exchange>, Failure> {
    let entries = log.read(&job, Seq(0)).await?;
    if entries.is_empty() {
        return Ok(None);
    }
    // A job that cannot be read hides no other, and is no reason to refuse a new one.
    let Ok(view) = fold::whole(&job, &entries).and_then(|job| fold::view(&job)) else {
        return Ok(None);
    };
    Ok((view.conversation.as_ref() == Some(id)).then(|| told(view, memory)))
}

fn told(view: JobView, memory: &Memory) -> Exchange {
    let (response, results) = match &view.outcome {
        Some(Outcome::Completed { summary, results }) => (summary.as_str(), Some(results)),
        Some(Outcome::Failed { message, results, .. }) => (message.as_str(), Some(results)),
        Some(Outcome::Canceled { reason }) => (reason.as_deref().unwrap_or_default(), None),
        None => ("", None),
    };
    let results = results.filter(|results| memory.results && !results.is_null());
    Exchange {
        job: view.job,
        goal: memory.cut(&view.goal),
        state: view.state,
        response: memory.cut(response),
        results: results.map(|results| memory.cut(&results.to_string())).unwrap_or_default(),
    }
}
