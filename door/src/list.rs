//! The verb `list`: jobs of all shards, newest first.

use std::collections::{HashSet, VecDeque};

use broker::log::{LogError, Reader};
use futures::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use proto::{
    door::{List, Listed},
    entry::Entry,
    error::{Code, Failure},
    id::{ConversationId, JobId, Seq, Shard},
    job::JobState,
    limits,
    refusal::Text,
    view::JobSummary,
};
use runtime::{
    conversations,
    service::{Answers, Asked},
};

use super::{Door, index::Selection, row, surroundings::Observer};

/// Default limit on jobs.
const USUAL: u32 = 50;
/// Number of jobs that are read concurrently.
pub(super) const AT_A_TIME: usize = 16;

impl Answers<List> for Door {
    async fn answer(&self, asked: Asked<'_, List>) -> Result<Listed, Failure> {
        let request = asked.request()?;
        let limit = request.limit.unwrap_or(USUAL);
        if !(1..=limits::LIST_MAX).contains(&limit) {
            let why = Text::Between { max: &limits::LIST_MAX };
            return Err(Failure::about(Code::InvalidRequest, "limit", why));
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let observer = &self.observer;
        match &request.conversation {
            None if !request.states.is_empty() => {
                let selection = Selection::States(&request.states);
                let after = request.after.as_ref();
                let most = limits::LIST_LOOKED_AT_MAX + 1;
                match self.index.select(&self.broker.log, selection, after, most).await? {
                    Some(found) => {
                        let (listed, purged) =
                            selected(observer, found, &request.states, limit).await?;
                        self.index.forget(&purged).await;
                        Ok(listed)
                    }
                    None => newest(observer, &request.states, limit, after).await,
                }
            }
            None => newest(observer, &request.states, limit, request.after.as_ref()).await,
            Some(id) => {
                let (mut jobs, more) = conversations::jobs(&*self.broker.kv, id).await?;
                if let Some(after) = &request.after {
                    let at = jobs.iter().position(|job| job == after);
                    let at = at.ok_or_else(|| no_such_place(after))?;
                    jobs.drain(..=at);
                }
                of_conversation(observer, id, jobs, more, &request.states, limit).await
            }
        }
    }
}

/// Returns the jobs of a conversation, newest first.
async fn of_conversation(
    observer: &Observer,
    id: &ConversationId,
    members: Vec<JobId>,
    mut more: bool,
    states: &[JobState],
    limit: usize,
) -> Result<Listed, Failure> {
    let (mut jobs, mut next): (Vec<JobSummary>, _) = (Vec::new(), None);
    let mut found = stream::iter(members).map(|job| row::of_job(observer, job)).buffered(AT_A_TIME);
    while let Some(summary) = found.try_next().await? {
        let fits = |s: &JobSummary| {
            s.conversation.as_ref() == Some(id) && (states.is_empty() || states.contains(&s.state))
        };
        let Some(summary) = summary.filter(fits) else { continue };
        if jobs.len() == limit {
            more = true;
            next = jobs.last().map(|last| last.job.clone());
            break;
        }
        jobs.push(summary);
    }
    Ok(Listed { jobs, more, next })
}

/// Returns those of the selected jobs that are in one of the states, and the jobs that were purged.
async fn selected(
    observer: &Observer,
    mut found: Vec<JobId>,
    states: &[JobState],
    limit: usize,
) -> Result<(Listed, Vec<JobId>), Failure> {
    let mut purged = Vec::new();
    let mut more = found.len() > limits::LIST_LOOKED_AT_MAX;
    found.truncate(limits::LIST_LOOKED_AT_MAX);
    let (mut jobs, mut next): (Vec<JobSummary>, Option<JobId>) = (Vec::new(), None);
    let mut found = found.into_iter();
    while jobs.len() < limit && found.len() > 0 {
        let batch: Vec<JobId> = found.by_ref().take(limit - jobs.len()).collect();
        next = batch.last().cloned();
        let rows = batch.into_iter().map(|job| async {
            let row = row::of_job(observer, job.clone()).await?;
            Ok::<_, Failure>((job, row))
        });
        let mut rows = stream::iter(rows).buffered(AT_A_TIME);
        while let Some((job, row)) = rows.try_next().await? {
            match row {
                Some(row) => jobs.extend(Some(row).filter(|row| states.contains(&row.state))),
                None => purged.push(job),
            }
        }
    }
    more |= found.len() > 0;
    Ok((Listed { jobs, more, next: next.filter(|_| more) }, purged))
}

/// Returns the error for a cursor whose job no longer exists.
fn no_such_place(after: &JobId) -> Failure {
    Failure::about(Code::NotFound, "after", Text::NoPlace { job: after })
}

async fn newest(
    observer: &Observer,
    states: &[JobState],
    limit: usize,
    after: Option<&JobId>,
) -> Result<Listed, Failure> {
    let mut submissions = Submissions::of(observer.log(), limit.min(64));
    if let Some(after) = after {
        let entries = observer.log().read(after, Seq(0)).await?;
        submissions.go_on(entries.first().ok_or_else(|| no_such_place(after))?);
    }
    let (mut jobs, mut looked_at, mut next) = (Vec::new(), 0, None);
    while jobs.len() < limit && looked_at < limits::LIST_LOOKED_AT_MAX {
        let wanted =
            if states.is_empty() { limit - jobs.len() } else { limits::LIST_LOOKED_AT_MAX };
        let batch = submissions.take(wanted.min(4 * AT_A_TIME)).await?;
        if batch.is_empty() {
            return Ok(Listed { jobs, more: false, next: None });
        }
        looked_at += batch.len();
        let mut found = stream::iter(batch)
            .map(|first| async {
                let job = first.job.clone();
                Ok::<_, Failure>((job, row::of_submission(observer, first).await?))
            })
            .buffered(AT_A_TIME)
            .try_collect::<VecDeque<_>>()
            .await?;
        while let Some((job, summary)) = found.pop_front() {
            next = Some(job);
            let fits = |s: &JobSummary| states.is_empty() || states.contains(&s.state);
            if let Some(summary) = summary.filter(fits) {
                jobs.push(summary);
            }
            if jobs.len() == limit {
                let more = !found.is_empty() || !submissions.take(1).await?.is_empty();
                return Ok(Listed { jobs, more, next: next.filter(|_| more) });
            }
        }
    }
    let more = !submissions.take(1).await?.is_empty();
    Ok(Listed { jobs, more, next: next.filter(|_| more) })
}

/// The submissions of all shards, merged, newest first.
pub(super) struct Submissions<'a> {
    log: &'a dyn Reader,
    shards: Vec<Newest>,
    page: usize,
    seen: HashSet<proto::id::JobId>,
    /// Cursor: time and shard of the submission after which the list continues.
    past: Option<(Timestamp, Shard)>,
}

/// The submissions of one shard that were read and not returned yet.
struct Newest {
    shard: Shard,
    read: VecDeque<Entry>,
    before: Option<Seq>,
    dry: bool,
}

impl<'a> Submissions<'a> {
    pub(super) fn of(log: &'a dyn Reader, page: usize) -> Self {
        let shards = log.subjects().all_shards();
        let shards =
            shards.map(|shard| Newest { shard, read: VecDeque::new(), before: None, dry: false });
        Self { log, shards: shards.collect(), page, seen: HashSet::new(), past: None }
    }

    /// Continues after a submission of an earlier page.
    fn go_on(&mut self, first: &Entry) {
        let of = self.log.subjects().shard_of(&first.job);
        self.past = Some((first.time, of));
        for shard in self.shards.iter_mut().filter(|shard| shard.shard == of) {
            shard.before = Some(first.seq);
        }
    }

    /// Returns up to `count` further submissions.
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

    /// Reads the next page of every shard whose buffer is empty.
    async fn fill(&mut self) -> Result<(), Failure> {
        let (log, page, past) = (self.log, self.page, self.past);
        let reads = self.shards.iter_mut().map(|shard| async move {
            while shard.read.is_empty() && !shard.dry {
                let entries = match log.submissions(shard.shard, shard.before, page).await {
                    Err(error @ LogError::Lost(_)) => {
                        tracing::warn!(%error, "a list leaves out the jobs of a lost shard");
                        Vec::new()
                    }
                    entries => entries?,
                };
                shard.dry = entries.len() < page;
                shard.before = entries.last().map(|entry| entry.seq);
                // Submissions of the same instant are ordered by shard, the highest first.
                let is_past = |entry: &Entry| match past {
                    Some((_, of)) if of == shard.shard => true,
                    Some(past) => (entry.time, shard.shard) < past,
                    None => true,
                };
                shard.read.extend(entries.into_iter().filter(is_past));
            }
            Ok::<_, Failure>(())
        });
        futures::future::try_join_all(reads).await.map(|_| ())
    }
}
