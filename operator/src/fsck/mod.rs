//! The consistency check of an installation. Every job must have ended, wait for an event that can
//! arrive (a command in its queue or with a worker, a question in the inbox, an armed timer), or be
//! stopped with a reason. Every other job is reported.
//!
//! The check never writes, and never relies on a single read: jobs change meanwhile, so a doubtful
//! job is checked again until its finding persists. Healthy jobs take no memory.

mod claim;
mod finding;
mod inbox;
mod judge;
mod walk;

use std::{collections::BTreeMap, time::Duration};

use broker::{Broker, kv::KvError, log::LogError};
use futures::{StreamExt, stream};
use proto::{
    door::DeadLetter,
    id::{JobId, Seq, Shard},
    lang::Language,
    refusal::Text as Refusal,
};
use serde::Serialize;

pub use self::finding::{Finding, JobCondition};

/// Number of shards that are checked concurrently.
const SHARDS: usize = 8;

/// The scope of a check.
#[derive(Debug, Clone)]
pub struct Scope {
    /// Shards to check; all if empty.
    pub shards: Vec<Shard>,
    /// Jobs to check; all if empty.
    pub jobs: Vec<JobId>,
    /// Wait before a doubtful job is checked again.
    pub settle: Duration,
    /// Limit on the checks of a job whose findings change each time.
    pub looks: u32,
}

impl Default for Scope {
    fn default() -> Self {
        Self { shards: Vec::new(), jobs: Vec::new(), settle: Duration::from_secs(2), looks: 5 }
    }
}

impl Scope {
    /// Creates a scope of some jobs.
    #[must_use]
    pub fn of(jobs: Vec<JobId>) -> Self {
        Self { jobs, ..Self::default() }
    }

    fn has(&self, broker: &Broker, job: &JobId) -> bool {
        let shard = broker.log.subjects().shard_of(job);
        (self.jobs.is_empty() || self.jobs.contains(job))
            && (self.shards.is_empty() || self.shards.contains(&shard))
    }
}

/// A job with findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wrong {
    /// Id of the job.
    pub job: JobId,
    /// Shard of the job.
    pub shard: Shard,
    /// Findings that persisted.
    pub findings: Vec<Finding>,
}

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// Number of jobs that were checked.
    pub jobs: u64,
    /// Number of jobs in each state; jobs with findings are not counted.
    #[serde(serialize_with = "by_word")]
    pub standings: BTreeMap<JobCondition, u64>,
    /// Jobs with findings.
    pub wrong: Vec<Wrong>,
    /// Dead letters, which wait for an operator.
    pub dead: Vec<DeadLetter>,
    /// Number of timers of ended jobs, which are harmless.
    pub idle_timers: u64,
    /// Shards whose stream is lost. Their jobs were not checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<Shard>,
}

fn by_word<S: serde::Serializer>(
    standings: &BTreeMap<JobCondition, u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let count = |standing| standings.get(standing).copied().unwrap_or_default();
    serializer.collect_map(JobCondition::ALL.iter().map(|standing| (standing, count(standing))))
}

impl Report {
    /// Returns `true` if every job was checked and has no findings. Dead letters do not count as
    /// findings.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.wrong.is_empty() && self.lost.is_empty()
    }

    /// Returns the number of jobs in a state.
    #[must_use]
    pub fn standing(&self, standing: JobCondition) -> u64 {
        self.standings.get(&standing).copied().unwrap_or_default()
    }

    fn add(&mut self, other: Self) {
        self.jobs += other.jobs;
        self.idle_timers += other.idle_timers;
        self.wrong.extend(other.wrong);
        self.dead.extend(other.dead);
        for (standing, count) in other.standings {
            *self.standings.entry(standing).or_default() += count;
        }
    }

    fn count(&mut self, standing: JobCondition) {
        self.jobs += 1;
        *self.standings.entry(standing).or_default() += 1;
    }
}

/// The error of a check that could not be completed.
#[derive(Debug, thiserror::Error)]
pub enum FsckError {
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The inbox cannot be read.
    #[error(transparent)]
    Kv(#[from] KvError),
    /// A job of the scope has no log.
    #[error("{}", Refusal::NoJob { job: _0 }.text(Language::En))]
    NoJob(JobId),
}

/// Checks an installation.
///
/// # Errors
/// Returns an error if a job of the scope has no log, or if something cannot be read. Findings up
/// to then are discarded, because they prove nothing.
pub async fn look(broker: &Broker, scope: &Scope) -> Result<Report, FsckError> {
    for job in &scope.jobs {
        // An unknown id is an error of the caller, not a damaged log.
        if broker.log.read(job, Seq(0)).await?.is_empty() {
            return Err(FsckError::NoJob(job.clone()));
        }
    }
    let subjects = broker.log.subjects();
    let wanted = subjects.all_shards().filter(|shard| {
        let is_named = scope.shards.is_empty() || scope.shards.contains(shard);
        let has_named = |job: &JobId| subjects.shard_of(job) == *shard;
        is_named && (scope.jobs.is_empty() || scope.jobs.iter().any(has_named))
    });
    let looks = wanted.map(|shard| async move { (shard, look_at(broker, scope, shard).await) });
    // Each shard waits for its doubtful jobs, so concurrency makes it one wait.
    let mut each = stream::iter(looks).buffer_unordered(SHARDS);
    let mut report = Report::default();
    while let Some((shard, one)) = each.next().await {
        match one {
            Err(FsckError::Log(LogError::Lost(_))) => report.lost.push(shard),
            one => report.add(one?),
        }
    }
    drop(each);
    report.lost.sort();
    inbox::look(broker, scope, &mut report).await?;
    report.wrong.sort_by(|a, b| (a.shard, &a.job).cmp(&(b.shard, &b.job)));
    report.dead.sort_by(|a, b| (a.since, &a.job, a.seq).cmp(&(b.since, &b.job, b.seq)));
    Ok(report)
}

async fn look_at(broker: &Broker, scope: &Scope, shard: Shard) -> Result<Report, FsckError> {
    let mut report = Report::default();
    let walk = walk::Shard { broker, scope, shard };
    if scope.jobs.is_empty() {
        walk.all(&mut report).await?;
    } else {
        let is_here = |job: &&JobId| broker.log.subjects().shard_of(job) == shard;
        walk.some(scope.jobs.iter().filter(is_here).cloned().collect(), &mut report).await?;
    }
    Ok(report)
}
