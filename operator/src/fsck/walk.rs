//! The walk through the jobs of a shard, page by page, with repeated checks of doubtful jobs.

use std::collections::{BTreeMap, BTreeSet};

use broker::{Broker, log::Queue};
use futures::{StreamExt, TryStreamExt, stream};
use proto::id::{self, JobId};

use super::{
    FsckError, Report, Scope, Wrong,
    finding::{Finding, JobCondition},
    judge::{self, Queues, Verdict},
};

/// Jobs per page; the queues' progress is read once for each.
const PAGE: usize = 200;
/// Jobs of one shard that are checked concurrently.
const LOOKS: usize = 4;
/// Timers per page.
const TIMERS: usize = 500;

/// A shard to check.
pub(super) struct Shard<'a> {
    pub(super) broker: &'a Broker,
    pub(super) scope: &'a Scope,
    pub(super) shard: id::Shard,
}

/// A job that must be checked again.
#[derive(Debug, Default)]
struct Doubt {
    /// Findings of the previous check.
    before: Vec<Finding>,
}

impl Shard<'_> {
    /// Checks every job of the shard.
    pub(super) async fn all(&self, report: &mut Report) -> Result<(), FsckError> {
        let (mut doubts, mut before) = (BTreeMap::new(), None);
        loop {
            let page = self.broker.log.submissions(self.shard, before, PAGE).await?;
            let Some(oldest) = page.last() else { break };
            before = Some(oldest.seq);
            let jobs = page.into_iter().map(|entry| entry.job).collect();
            self.page(jobs, report, &mut doubts).await?;
        }
        self.settle(report, doubts).await?;
        report.idle_timers += self.idle_timers().await?;
        Ok(())
    }

    /// Checks some jobs.
    pub(super) async fn some(
        &self,
        jobs: Vec<JobId>,
        report: &mut Report,
    ) -> Result<(), FsckError> {
        let mut doubts = BTreeMap::new();
        self.page(jobs, report, &mut doubts).await?;
        self.settle(report, doubts).await
    }

    async fn page(
        &self,
        jobs: Vec<JobId>,
        report: &mut Report,
        doubts: &mut BTreeMap<JobId, Doubt>,
    ) -> Result<(), FsckError> {
        for (job, verdict) in self.looks(jobs).await? {
            // The broker counts unacknowledged deliveries only for a whole queue.
            if verdict.findings.is_empty() && verdict.delivered.is_empty() {
                passed(report, verdict);
            } else {
                doubts.insert(job, Doubt { before: verdict.findings });
            }
        }
        Ok(())
    }

    async fn looks(&self, jobs: Vec<JobId>) -> Result<Vec<(JobId, Verdict)>, FsckError> {
        let queues = Queues::new(self.broker.log.progress(self.shard).await?);
        let queues = &queues;
        let looks = stream::iter(jobs).map(|job| async move {
            let verdict = judge::look(self.broker, queues, &job).await?;
            Ok::<_, FsckError>((job, verdict))
        });
        let mut all: Vec<_> = looks.buffer_unordered(LOOKS).try_collect().await?;
        missing_from_hands(queues, &mut all);
        Ok(all)
    }

    /// Checks doubtful jobs until each is healthy or its finding persists. All of them are compared
    /// with one reading of the queues' progress.
    async fn settle(
        &self,
        report: &mut Report,
        mut doubts: BTreeMap<JobId, Doubt>,
    ) -> Result<(), FsckError> {
        for round in 0..self.scope.looks {
            if doubts.is_empty() {
                return Ok(());
            }
            if round > 0 || doubts.values().any(|doubt| !doubt.before.is_empty()) {
                tokio::time::sleep(self.scope.settle).await;
            }
            let jobs: Vec<JobId> = doubts.keys().cloned().collect();
            for (job, verdict) in self.looks(jobs).await? {
                let Some(doubt) = doubts.get_mut(&job) else { continue };
                let stays: Vec<Finding> = verdict
                    .findings
                    .iter()
                    .filter(|found| doubt.before.iter().any(|before| found.stays(before)))
                    .cloned()
                    .collect();
                if verdict.findings.is_empty() {
                    doubts.remove(&job);
                    passed(report, verdict);
                } else if stays.is_empty() {
                    doubt.before = verdict.findings;
                } else {
                    doubts.remove(&job);
                    report.jobs += 1;
                    report.dead.extend(verdict.dead);
                    report.wrong.push(Wrong { job, shard: self.shard, findings: stays });
                }
            }
        }
        // Every check had other findings than the one before: the job is moving.
        doubts.keys().for_each(|_| report.count(JobCondition::Moving));
        Ok(())
    }

    /// Returns the number of timers of ended jobs.
    async fn idle_timers(&self) -> Result<u64, FsckError> {
        let timers = self.broker.log.timers(self.shard).await?;
        let mut pages = timers.try_chunks(TIMERS);
        let mut idle = 0;
        while let Some(page) = pages.next().await {
            let page = page.map_err(|cut| cut.1)?;
            let jobs: BTreeSet<JobId> = page.iter().map(|armed| armed.job.clone()).collect();
            let jobs: Vec<JobId> = jobs.into_iter().collect();
            let ended = self.broker.log.finished_among(&jobs).await?;
            idle += page.iter().filter(|armed| ended.contains(&armed.job)).count() as u64;
        }
        Ok(idle)
    }
}

fn passed(report: &mut Report, verdict: Verdict) {
    report.count(verdict.standing);
    report.dead.extend(verdict.dead);
}

/// Adds findings for dropped deliveries. Every delivered command without a result must be
/// unacknowledged. If there are more of them than unacknowledged deliveries, some were dropped, and
/// the broker does not say which.
fn missing_from_hands(queues: &Queues, all: &mut [(JobId, Verdict)]) {
    let mut delivered: BTreeMap<Queue, usize> = BTreeMap::new();
    for command in all.iter().flat_map(|(_, verdict)| &verdict.delivered) {
        *delivered.entry(command.queue.clone()).or_default() += 1;
    }
    for (_, verdict) in all {
        for command in &verdict.delivered {
            let commands = delivered.get(&command.queue).copied().unwrap_or_default();
            let held = queues.held(&command.queue);
            if commands as u64 > held {
                let (seq, queue) = (command.seq, command.queue.clone());
                verdict.findings.push(Finding::OneOfDropped { seq, queue, commands, held });
            }
        }
    }
}
