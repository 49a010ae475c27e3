//! `list`: jobs over all shards, newest first.

use std::collections::{HashSet, VecDeque};

use futures::{StreamExt, TryStreamExt, stream};
use proto::{
    door::{List, Listed},
    error::{Code, Failure},
    id::{ConversationId, JobId, Seq, Shard},
    job::{JobState, SubStatus},
    limits, strict,
    view::JobSummary,
};
use runtime::{
    config::Role,
    log::{Entry, Log},
    service::{Call, Handled},
};

use super::{Door, conversation, fold, submit::first_submission};

/// Jobs when no number is asked for.
const USUAL: u32 = 50;
/// Jobs that are read at a time.
const AT_A_TIME: usize = 16;

impl Door {
    pub(super) async fn list(&self, call: &Call) -> Result<Handled, Failure> {
        self.admit(call, Role::Read)?;
        let request: List =
            if call.payload.is_empty() { List::default() } else { strict::request(&call.payload)? };
        let limit = request.limit.unwrap_or(USUAL);
        if !(1..=limits::LIST_MAX).contains(&limit) {
            let why = format!("limit: must be 1 to {}", limits::LIST_MAX);
            return Err(Failure::new(Code::InvalidRequest, why).at("limit"));
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let log = &*self.broker.log;
        let listed = match &request.conversation {
            None => newest(log, &request.states, limit).await?,
            Some(id) => {
                let (jobs, more) = conversation::jobs(&*self.broker.kv, id).await?;
                of_conversation(log, id, jobs, more, &request.states, limit).await?
            }
        };
        Handled::json(&listed)
    }
}

/// The jobs of a conversation, newest first.
async fn of_conversation(
    log: &dyn Log,
    id: &ConversationId,
    members: Vec<JobId>,
    mut more: bool,
    states: &[JobState],
    limit: usize,
) -> Result<Listed, Failure> {
    let mut jobs = Vec::new();
    let mut found = stream::iter(members).map(|job| of_job(log, job)).buffered(AT_A_TIME);
    while let Some(summary) = found.try_next().await? {
        let fits = |s: &JobSummary| {
            s.conversation.as_ref() == Some(id) && (states.is_empty() || states.contains(&s.state))
        };
        let Some(summary) = summary.filter(fits) else { continue };
        if jobs.len() == limit {
            more = true;
            break;
        }
        jobs.push(summary);
    }
    Ok(Listed { jobs, more })
}

async fn newest(log: &dyn Log, states: &[JobState], limit: usize) -> Result<Listed, Failure> {
    let mut submissions = Submissions::of(log, limit.min(64));
    let (mut jobs, mut looked_at) = (Vec::new(), 0);
    while jobs.len() < limit && looked_at < limits::LIST_LOOKED_AT_MAX {
        let wanted =
            if states.is_empty() { limit - jobs.len() } else { limits::LIST_LOOKED_AT_MAX };
        let batch = submissions.take(wanted.min(4 * AT_A_TIME)).await?;
        if batch.is_empty() {
            return Ok(Listed { jobs, more: false });
        }
        looked_at += batch.len();
        let mut found = stream::iter(batch)
            .map(|first| summary(log, first))
            .buffered(AT_A_TIME)
            .try_collect::<VecDeque<_>>()
            .await?;
        while let Some(summary) = found.pop_front() {
            let fits = |s: &JobSummary| states.is_empty() || states.contains(&s.state);
            if let Some(summary) = summary.filter(fits) {
                jobs.push(summary);
            }
            if jobs.len() == limit {
                let more = !found.is_empty() || !submissions.take(1).await?.is_empty();
                return Ok(Listed { jobs, more });
            }
        }
    }
    let more = !submissions.take(1).await?.is_empty();
    Ok(Listed { jobs, more })
}

/// One job by its id, on one line; nothing when it was never stored.
async fn of_job(log: &dyn Log, job: JobId) -> Result<Option<JobSummary>, Failure> {
    let entries = log.read(&job, Seq(0)).await?;
    let Some(first) = entries.first() else { return Ok(None) };
    let folded = fold::whole(&job, &entries).and_then(|job| fold::summary(&job));
    Ok(folded.ok().or_else(|| unfolded(first)))
}

/// One job on one line; nothing when it was purged meanwhile.
async fn summary(log: &dyn Log, first: Entry) -> Result<Option<JobSummary>, Failure> {
    let entries = log.read(&first.job, Seq(0)).await?;
    if entries.is_empty() {
        return Ok(None);
    }
    let folded = fold::whole(&first.job, &entries).and_then(|job| fold::summary(&job));
    Ok(folded.ok().or_else(|| unfolded(&first)))
}

/// A job whose log cannot be folded is shown for what is known of it, and hides no other.
fn unfolded(first: &Entry) -> Option<JobSummary> {
    let submitted = first_submission(first)?;
    Some(JobSummary {
        job: first.job.clone(),
        state: JobState::Working,
        sub_status: Some(SubStatus::Poisoned),
        goal: submitted.goal.lines().next().unwrap_or_default().chars().take(200).collect(),
        agent: submitted.agent.name,
        conversation: submitted.conversation.map(|conversation| conversation.id),
        parent: submitted.parent.map(|parent| parent.job),
        steps_done: 0,
        steps: 0,
        questions: 0,
        created: first.time,
        updated: first.time,
    })
}

/// The submissions of all shards, merged: newest first.
pub(super) struct Submissions<'a> {
    log: &'a dyn Log,
    shards: Vec<Newest>,
    page: usize,
    seen: HashSet<proto::id::JobId>,
}

/// What was read of one shard and not given yet.
struct Newest {
    shard: Shard,
    read: VecDeque<Entry>,
    before: Option<Seq>,
    dry: bool,
}

impl<'a> Submissions<'a> {
    pub(super) fn of(log: &'a dyn Log, page: usize) -> Self {
        let shards = log.subjects().all_shards();
        let shards =
            shards.map(|shard| Newest { shard, read: VecDeque::new(), before: None, dry: false });
        Self { log, shards: shards.collect(), page, seen: HashSet::new() }
    }

    /// The next few.
    pub(super) async fn take(&mut self, count: usize) -> Result<Vec<Entry>, Failure> {
        let mut taken = Vec::new();
        while taken.len() < count {
            self.fill().await?;
            let newest = self
                .shards
                .iter_mut()
                .filter(|shard| !shard.read.is_empty())
                .max_by_key(|shard| shard.read.front().map(|entry| entry.time));
            let Some(entry) = newest.and_then(|shard| shard.read.pop_front()) else { break };
            if self.seen.insert(entry.job.clone()) {
                taken.push(entry);
            }
        }
        Ok(taken)
    }

    /// Reads on in every shard of which nothing is left to give.
    async fn fill(&mut self) -> Result<(), Failure> {
        let (log, page) = (self.log, self.page);
        let empty = self.shards.iter_mut().filter(|shard| shard.read.is_empty() && !shard.dry);
        let reads = empty.map(|shard| async move {
            let entries = log.submissions(shard.shard, shard.before, page).await?;
            shard.dry = entries.len() < page;
            shard.before = entries.last().map(|entry| entry.seq);
            shard.read.extend(entries);
            Ok::<_, Failure>(())
        });
        futures::future::try_join_all(reads).await.map(|_| ())
    }
}
