//! The index of jobs: the headline of each, the state in which it ended, and the order of submissions,
//! in memory.
//!
//! It is read from the milestones of all shards once and continued at each use.
//! It selects jobs and decides nothing: a list reads the log of every job that it shows. A job whose
//! end is in doubt, because a rollback may have opened it again, counts as open.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use broker::log::{Log, LogError, Milestone, Passed, ShardState};
use futures::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use proto::{
    door::{Counted, Filter},
    headline::Headline,
    id::{AgentName, JobId, Seq, Shard},
    job::JobState,
    milestone,
};
use tokio::{sync::Mutex, task::JoinHandle, time::Instant};

/// Largest number of jobs in the index. With more, lists read every log.
pub(crate) const JOBS_MAX: usize = 1_000_000;

/// Time for which counts use the index without reading it again.
const FRESH_FOR: Duration = Duration::from_secs(600);

/// Longest time that a list waits for the index. Another way to list costs the broker more.
const READ_WITHIN: Duration = Duration::from_secs(2);

/// Number of shards that are read concurrently while the index is far behind. Other requests of the
/// process wait for these reads.
const SHARDS_AT_A_TIME: usize = 2;

/// The index of an installation. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Index(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    jobs: Mutex<Jobs>,
    /// `true` while a task holds `jobs` to read the whole index.
    is_being_read: AtomicBool,
    /// `true` if `jobs` were whole when they were read last.
    is_whole: AtomicBool,
}

impl Shared {
    async fn catch_up(&self, jobs: &mut Jobs, log: &dyn Log) -> Result<(), LogError> {
        let caught_up = jobs.catch_up(log).await;
        self.is_whole.store(jobs.is_whole, Ordering::Release);
        caught_up
    }
}

/// The order of jobs in lists: by submission, the newest last.
type Place = (Timestamp, Shard, Seq);

/// The jobs of the index.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    passed: BTreeMap<Shard, Passed>,
    known: HashMap<JobId, Known>,
    order: BTreeMap<Place, JobId>,
    /// Names of agents, so that headlines share them.
    agents: HashSet<AgentName>,
    /// Ends that were read before the submissions of their jobs.
    early: HashMap<JobId, (Seq, Option<JobState>)>,
    is_whole: bool,
    /// Time at which the index became whole.
    read_at: Option<Instant>,
    /// `true` once there were too many jobs. The index stays empty from then on.
    is_too_large: bool,
}

#[derive(Debug)]
struct Known {
    place: Place,
    /// Headline, or `None` if only the log has it.
    headline: Option<Box<Headline>>,
    /// Position of the last end, with its state.
    end: Option<(Seq, Option<JobState>)>,
    /// `true` if a rollback may have opened the job again.
    may_be_open: bool,
}

impl Index {
    /// Selects jobs from the current index, newest first, after `cursor`: at most `limit`. Returns
    /// `None` if the broker has no milestones, with too many jobs, and if the index cannot be read
    /// within [`READ_WITHIN`]; then the rest is read in the background.
    pub(super) async fn select(
        &self,
        log: &Arc<dyn Log>,
        selection: Selection<'_>,
        cursor: Option<&JobId>,
        limit: usize,
    ) -> Result<Option<Vec<Selected>>, LogError> {
        let current = async {
            let mut jobs = self.0.jobs.lock().await;
            let caught_up = match jobs.is_too_large {
                true => Ok(()),
                false => self.0.catch_up(&mut jobs, &**log).await,
            };
            match caught_up {
                // Lists that read every log leave out a lost shard.
                Err(LogError::Lost(_)) => Ok(None),
                Err(error) if !jobs.is_whole => {
                    tracing::warn!(%error, "the index of jobs could not be read; lists read every log");
                    Ok(None)
                }
                caught_up => caught_up.map(|()| Some(jobs)),
            }
        };
        let jobs = match tokio::time::timeout(READ_WITHIN, current).await {
            Ok(current) => match current? {
                Some(jobs) => jobs,
                None => return Ok(None),
            },
            Err(_) => {
                let _ = self.read(Arc::clone(log));
                return Ok(None);
            }
        };
        Ok(jobs.is_whole.then(|| jobs.select(selection, cursor, limit)).flatten())
    }

    /// Counts the jobs that match, from the current index, which is read first if need be. Returns `None` if the
    /// broker has no milestones, or with too many jobs.
    ///
    /// # Errors
    /// [`LogError::Lost`] while a shard is lost.
    pub(super) async fn count(
        &self,
        log: &Arc<dyn Log>,
        filter: &Filter,
    ) -> Result<Option<Numbers>, LogError> {
        let is_whole = {
            let mut jobs = self.0.jobs.lock().await;
            jobs.drop_if_old();
            self.0.is_whole.store(jobs.is_whole, Ordering::Release);
            jobs.is_whole || jobs.is_too_large
        };
        if !is_whole && let Some(reading) = self.read(Arc::clone(log)) {
            // The task logs an error and has no result, so the catch-up below repeats a failed read.
            let _ = reading.await;
        }
        let mut jobs = self.0.jobs.lock().await;
        if jobs.is_too_large {
            return Ok(None);
        }
        self.0.catch_up(&mut jobs, &**log).await?;
        Ok(jobs.is_whole.then(|| jobs.count(filter)))
    }

    /// `true` if the index had all jobs when it was read last.
    pub(super) fn is_whole(&self) -> bool {
        self.0.is_whole.load(Ordering::Acquire)
    }

    /// Begins to read the whole index in the background, for later lists.
    pub(super) fn begin(&self, log: &Arc<dyn Log>) {
        // A request that holds the lock reads the index itself.
        if self.0.jobs.try_lock().is_ok_and(|jobs| !jobs.is_too_large) {
            let _ = self.read(Arc::clone(log));
        }
    }

    /// Reads the whole index in the background; `None` if that is under way already.
    fn read(&self, log: Arc<dyn Log>) -> Option<JoinHandle<()>> {
        if self.0.is_being_read.swap(true, Ordering::AcqRel) {
            return None;
        }
        let index = self.clone();
        Some(tokio::spawn(async move {
            let mut jobs = index.0.jobs.lock().await;
            match index.0.catch_up(&mut jobs, &*log).await {
                Ok(()) | Err(LogError::Lost(_)) => {}
                Err(error) => {
                    tracing::warn!(%error, "the index of jobs could not be read; lists read every log");
                }
            }
            drop(jobs);
            index.0.is_being_read.store(false, Ordering::Release);
        }))
    }

    /// Removes jobs that were purged.
    pub(super) async fn forget(&self, purged: &[JobId]) {
        if !purged.is_empty() {
            self.0.jobs.lock().await.forget(purged);
        }
    }
}

/// A selected job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Selected {
    /// The job.
    pub(super) job: JobId,
    /// State of its shard at the selection, if it is known.
    pub(super) shard: Option<ShardState>,
}

/// The numbers of jobs in the index.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// Jobs that certainly match and whose state is certain, as far as counts distinguish states.
    pub(super) certain: Counted,
    /// Jobs that may match, or whose state is not certain: those that have ended, unless a rollback
    /// opened them again, and those whose end cannot be read.
    pub(super) doubtful: Vec<JobId>,
}

/// The jobs of a list.
#[derive(Debug, Clone, Copy)]
pub(super) enum Selection<'a> {
    /// Jobs that may match.
    Matching(&'a Filter),
    /// Jobs that may be open.
    Open,
}

impl Selection<'_> {
    fn has(self, known: &Known) -> bool {
        match self {
            Self::Matching(filter) => known.may_match(filter),
            Self::Open => known.state().is_none(),
        }
    }
}

impl Known {
    /// The state of a job that has certainly ended.
    fn state(&self) -> Option<JobState> {
        self.end.filter(|_| !self.may_be_open).and_then(|(_, state)| state)
    }

    fn may_match(&self, filter: &Filter) -> bool {
        let is_in_state = match self.state() {
            Some(state) => filter.admits_state(state),
            None if self.end.is_some() => true,
            None => OPEN.into_iter().any(|state| filter.admits_state(state)),
        };
        is_in_state
            && filter.admits_time(self.place.0)
            && self.headline.as_ref().is_none_or(|headline| filter.admits(headline))
    }

    /// Returns the state that stands for the job in a count, if the job certainly matches.
    fn matches(&self, filter: &Filter) -> Option<JobState> {
        if !filter.needs_no_row() || (self.headline.is_none() && !filter.is_of_states()) {
            return None;
        }
        match (self.state(), &self.end) {
            (Some(state), _) => Some(state),
            // The index does not distinguish the states of open jobs.
            (None, None) => OPEN
                .into_iter()
                .all(|state| filter.admits_state(state))
                .then_some(JobState::Working),
            (None, Some(_)) => None,
        }
    }
}

/// The states of jobs that have not ended, as far as the job machine reports them.
const OPEN: [JobState; 3] = [JobState::Submitted, JobState::Working, JobState::InputRequired];

impl Jobs {
    /// Reads new milestones of every shard. The index is dropped while a shard is lost, and once it
    /// was restored from a backup.
    async fn catch_up(&mut self, log: &dyn Log) -> Result<(), LogError> {
        let all = log.subjects().all_shards().count();
        let mut at_a_time = if self.is_whole { all } else { SHARDS_AT_A_TIME };
        loop {
            let passed = |shard| self.passed.get(&shard).copied().unwrap_or_default();
            let places: Vec<_> =
                log.subjects().all_shards().map(|shard| (shard, passed(shard))).collect();
            let pages = stream::iter(places).map(|(shard, passed)| async move {
                Ok((shard, log.milestones(shard, passed).await?))
            });
            let pages = pages.buffered(at_a_time).try_collect::<Vec<_>>();
            let pages = match pages.await {
                // The shard may come back with other records, so nothing of the index stays.
                Err(lost @ LogError::Lost(_)) => {
                    *self = Self::default();
                    return Err(lost);
                }
                pages => pages?,
            };
            let mut more = false;
            for (shard, page) in pages {
                let Some(page) = page else { return Ok(()) };
                if page.is_rewound {
                    *self = Self::default();
                    return Ok(());
                }
                more |= page.more;
                self.passed.insert(shard, page.passed);
                page.found.into_iter().for_each(|milestone| self.take(shard, milestone));
            }
            if self.known.len() > JOBS_MAX {
                tracing::warn!(
                    JOBS_MAX,
                    "there are too many jobs for the index; lists read every log"
                );
                *self = Self { is_too_large: true, ..Self::default() };
                return Ok(());
            }
            if !more {
                self.is_whole = true;
                self.read_at.get_or_insert_with(Instant::now);
                return Ok(());
            }
            at_a_time = SHARDS_AT_A_TIME;
        }
    }

    /// Drops an index that was read some time ago. No record tells of a purge, so only another read
    /// of the index forgets purged jobs.
    fn drop_if_old(&mut self) {
        if self.read_at.is_some_and(|read_at| read_at.elapsed() >= FRESH_FOR) {
            *self = Self::default();
        }
    }

    fn take(&mut self, shard: Shard, milestone: Milestone) {
        let Milestone { job, seq, time, kind } = milestone;
        match kind {
            milestone::Milestone::Submitted(mut headline) => {
                if let Some(headline) = &mut headline {
                    self.share_name(&mut headline.agent);
                }
                let place = (time, shard, seq);
                let end = self.early.remove(&job).filter(|(end, _)| *end > seq);
                let known = Known { place, headline, end, may_be_open: false };
                // A purged id may have been submitted again.
                if let Some(before) = self.known.insert(job.clone(), known) {
                    self.order.remove(&before.place);
                }
                self.order.insert(place, job);
            }
            milestone::Milestone::MayReopen => {
                if let Some(known) = self.known.get_mut(&job) {
                    known.may_be_open = true;
                }
            }
            milestone::Milestone::Ended(state) => {
                match self.known.get_mut(&job).filter(|known| known.place.2 < seq) {
                    Some(known) => known.end = Some((seq, state)),
                    None => _ = self.early.insert(job, (seq, state)),
                }
            }
        }
    }

    /// Replaces a name by the equal one that other headlines have.
    fn share_name(&mut self, agent: &mut AgentName) {
        match self.agents.get(agent) {
            Some(known) => *agent = known.clone(),
            None => _ = self.agents.insert(agent.clone()),
        }
    }

    fn forget(&mut self, purged: &[JobId]) {
        for job in purged {
            if let Some(known) = self.known.remove(job) {
                self.order.remove(&known.place);
            }
        }
    }

    fn count(&self, filter: &Filter) -> Numbers {
        let mut numbers = Numbers::default();
        for (job, known) in self.known.iter().filter(|(_, known)| known.may_match(filter)) {
            match known.matches(filter) {
                Some(state) => numbers.certain.add(state),
                None => numbers.doubtful.push(job.clone()),
            }
        }
        numbers
    }

    fn select(
        &self,
        selection: Selection<'_>,
        cursor: Option<&JobId>,
        limit: usize,
    ) -> Option<Vec<Selected>> {
        let upto = match cursor {
            Some(cursor) => Some(self.known.get(cursor)?.place),
            None => None,
        };
        let rest = match upto {
            Some(place) => self.order.range(..place),
            None => self.order.range(..),
        };
        let is_selected =
            |job: &JobId| self.known.get(job).is_some_and(|known| selection.has(known));
        let earliest = match selection {
            Selection::Matching(filter) => filter.since,
            Selection::Open => None,
        };
        let rest =
            rest.rev().take_while(|(place, _)| earliest.is_none_or(|since| since <= place.0));
        let chosen = rest.filter(|(_, job)| is_selected(job)).take(limit);
        let selected = chosen.map(|((_, shard, _), job)| {
            let shard = self.passed.get(shard).and_then(|passed| passed.state);
            Selected { job: job.clone(), shard }
        });
        Some(selected.collect())
    }
}

#[cfg(test)]
mod tests;
