//! The verb `list`: jobs of all shards, newest first.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use broker::log::{LogError, Reader};
use futures::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use proto::{
    door::{Filter, List, Listed},
    entry::Entry,
    error::{Code, Failure},
    headline::Headline,
    id::{JobId, Seq, Shard},
    job::JobState,
    limits,
    refusal::Text,
    view::JobSummary,
};
use runtime::{
    conversations,
    service::{Answers, Asked},
};

use super::{
    Door,
    index::{Selected, Selection},
    row,
    surroundings::Observer,
};

/// Default limit on jobs.
const USUAL: u32 = 50;
/// Number of jobs that are read concurrently.
pub(super) const AT_A_TIME: usize = 16;

impl Answers<List> for Door {
    async fn answer(&self, asked: Asked<'_, List>) -> Result<Listed, Failure> {
        let List { filter, limit, after } = asked.request()?;
        let limit = limit.unwrap_or(USUAL);
        if !(1..=limits::LIST_MAX).contains(&limit) {
            let why = Text::Between { max: &limits::LIST_MAX };
            return Err(Failure::about(Code::InvalidRequest, "limit", why));
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.page(&filter, limit, after.as_ref()).await
    }
}

impl Door {
    /// Returns a page of the jobs that match, newest first.
    pub(super) async fn page(
        &self,
        filter: &Filter,
        limit: usize,
        after: Option<&JobId>,
    ) -> Result<Listed, Failure> {
        let observer = &self.observer;
        if let Some(id) = &filter.conversation {
            let (mut jobs, more) = conversations::jobs(&*self.broker.kv, id).await?;
            if let Some(after) = after {
                let at = jobs.iter().position(|job| job == after);
                let at = at.ok_or_else(|| no_such_place(after))?;
                jobs.drain(..=at);
            }
            return of_conversation(observer, jobs, more, filter, limit).await;
        }
        // A list of all jobs needs few of them, so it does not wait for the index.
        if filter.is_empty() && !self.index.is_whole() {
            self.index.begin(&self.broker.log);
            return newest(observer, filter, limit, after).await;
        }
        let (selection, most) = (Selection::Matching(filter), limits::LIST_LOOKED_AT_MAX + 1);
        match self.index.select(&self.broker.log, selection, after, most).await? {
            Some(found) => {
                let (listed, purged) = selected(observer, found, filter, limit).await?;
                self.index.forget(&purged).await;
                Ok(listed)
            }
            None => newest(observer, filter, limit, after).await,
        }
    }
}

/// Returns the jobs of a conversation, newest first.
async fn of_conversation(
    observer: &Observer,
    members: Vec<JobId>,
    mut more: bool,
    filter: &Filter,
    limit: usize,
) -> Result<Listed, Failure> {
    let (mut jobs, mut last): (Vec<JobSummary>, _) = (Vec::new(), None);
    let mut found = stream::iter(members).map(|job| row::of_job(observer, job)).buffered(AT_A_TIME);
    while let Some(summary) = found.try_next().await? {
        let Some(summary) = summary.filter(|row| filter.matches(row)) else { continue };
        if jobs.len() == limit {
            more = true;
            last = jobs.last();
            break;
        }
        jobs.push(summary);
    }
    let (next, reached) = last.map(|last| (last.job.clone(), last.created)).unzip();
    Ok(Listed { jobs, more, next, reached })
}

/// Returns those of the selected jobs that match, and the jobs that were purged.
async fn selected(
    observer: &Observer,
    mut found: Vec<Selected>,
    filter: &Filter,
    limit: usize,
) -> Result<(Listed, Vec<JobId>), Failure> {
    let mut purged = Vec::new();
    let mut more = found.len() > limits::LIST_LOOKED_AT_MAX;
    found.truncate(limits::LIST_LOOKED_AT_MAX);
    let (mut jobs, mut next): (Vec<JobSummary>, Option<JobId>) = (Vec::new(), None);
    let mut reached = None;
    let mut found = found.into_iter();
    while jobs.len() < limit && found.len() > 0 {
        let batch: Vec<Selected> = found.by_ref().take(limit - jobs.len()).collect();
        next = batch.last().map(|last| last.job.clone());
        let rows = batch.into_iter().map(|selected| async {
            let job = selected.job.clone();
            Ok::<_, Failure>((job, row::of_selected(observer, selected).await?))
        });
        let mut rows = stream::iter(rows).buffered(AT_A_TIME);
        while let Some((job, row)) = rows.try_next().await? {
            match row {
                Some(row) => {
                    reached = Some(row.created);
                    jobs.extend(Some(row).filter(|row| filter.matches(row)));
                }
                None => purged.push(job),
            }
        }
    }
    more |= found.len() > 0;
    let (next, reached) = (next.filter(|_| more), reached.filter(|_| more));
    Ok((Listed { jobs, more, next, reached }, purged))
}

/// Returns the error for a cursor whose job no longer exists.
fn no_such_place(after: &JobId) -> Failure {
    Failure::about(Code::NotFound, "after", Text::NoPlace { job: after })
}

/// Returns the jobs that match by reading the logs of all jobs, newest first.
async fn newest(
    observer: &Observer,
    filter: &Filter,
    limit: usize,
    after: Option<&JobId>,
) -> Result<Listed, Failure> {
    let mut submissions = Submissions::of(observer.log(), limit.min(64));
    if let Some(after) = after {
        let entries = observer.log().read(after, Seq(0)).await?;
        submissions.go_on(entries.first().ok_or_else(|| no_such_place(after))?);
    }
    let (mut jobs, mut looked_at, mut last) = (Vec::new(), 0, None);
    let page = |jobs, more, last: Option<(JobId, Timestamp)>| {
        let (next, reached) = last.filter(|_| more).unzip();
        Listed { jobs, more, next, reached }
    };
    while jobs.len() < limit && looked_at < limits::LIST_LOOKED_AT_MAX {
        let wanted =
            if filter.is_empty() { limit - jobs.len() } else { limits::LIST_LOOKED_AT_MAX };
        let batch = submissions.take(wanted.min(4 * AT_A_TIME)).await?;
        let is_late = |entry: &Entry| filter.since.is_none_or(|since| since <= entry.time);
        if !batch.first().is_some_and(is_late) {
            return Ok(page(jobs, false, None));
        }
        looked_at += batch.len();
        let ended = match is_of_open_jobs(filter) {
            true => ended(observer.log(), batch.iter().map(|first| first.job.clone())).await?,
            false => BTreeSet::new(),
        };
        let mut found = stream::iter(batch)
            .map(|first| async {
                let (job, time) = (first.job.clone(), first.time);
                let row = match may_match(filter, &first) && !ended.contains(&job) {
                    true => row::of_submission(observer, first).await?,
                    false => None,
                };
                Ok::<_, Failure>(((job, time), row))
            })
            .buffered(AT_A_TIME)
            .try_collect::<VecDeque<_>>()
            .await?;
        while let Some((place, row)) = found.pop_front() {
            last = Some(place);
            jobs.extend(row.filter(|row| filter.matches(row)));
            if jobs.len() == limit {
                let more = !found.is_empty() || !submissions.take(1).await?.is_empty();
                return Ok(page(jobs, more, last));
            }
        }
    }
    let more = !submissions.take(1).await?.is_empty();
    Ok(page(jobs, more, last))
}

/// Returns `true` if no job matches that has ended.
fn is_of_open_jobs(filter: &Filter) -> bool {
    JobState::ALL.iter().all(|state| !(state.is_terminal() && filter.admits_state(*state)))
}

/// Returns those of the jobs that have certainly ended, without reading their logs.
pub(super) async fn ended(
    log: &dyn Reader,
    jobs: impl Iterator<Item = JobId>,
) -> Result<BTreeSet<JobId>, Failure> {
    let mut by_shard: BTreeMap<Shard, Vec<JobId>> = BTreeMap::new();
    for job in jobs {
        by_shard.entry(log.subjects().shard_of(&job)).or_default().push(job);
    }
    let ended = by_shard.values().map(|jobs| log.finished_among(jobs));
    Ok(futures::future::try_join_all(ended).await?.into_iter().flatten().collect())
}

/// Returns `true` if a job may match, as far as its submission says.
pub(super) fn may_match(filter: &Filter, first: &Entry) -> bool {
    let headline = first.record.as_ref().ok().and_then(Headline::of_record);
    filter.admits_time(first.time) && headline.is_none_or(|headline| filter.admits(&headline))
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
