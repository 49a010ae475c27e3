//! The questions of one job in the fold of its log, and the names that may not answer them.

use std::collections::BTreeSet;

use broker::log::{Log, LogError};
use machine::{Job, QuestionStatus, replay};
use proto::{
    entry::Entry,
    fact::Source,
    id::{AskId, JobId, Seq},
    subject::Family,
};

/// The fold of a job's log, kept current while its questions matter.
#[derive(Debug, Clone)]
pub struct QuestionLog {
    job: Job,
    /// Processes that worked for the job.
    workers: BTreeSet<String>,
}

impl QuestionLog {
    /// A log of which nothing has been read.
    #[must_use]
    pub fn new(job: JobId) -> Self {
        Self { job: Job::new(job), workers: BTreeSet::new() }
    }

    /// Reads a whole log.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn read(log: &dyn Log, job: &JobId) -> Result<Self, LogError> {
        Ok(Self::of(job, &log.read(job, Seq(0)).await?))
    }

    /// The questions of a whole log.
    #[must_use]
    pub fn of(job: &JobId, entries: &[Entry]) -> Self {
        let workers = entries.iter().filter_map(worker).map(str::to_owned).collect();
        Self { job: replay(job, entries), workers }
    }

    /// Takes the records that were stored since the last look.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn catch_up(&mut self, log: &dyn Log) -> Result<(), LogError> {
        for entry in log.read(self.job.id(), self.job.seq()).await? {
            if !self.take(&entry) {
                *self = Self::read(log, &self.job.id().clone()).await?;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes the next entry. After a rollback the whole log must be read again; then this is false.
    #[must_use]
    pub fn take(&mut self, entry: &Entry) -> bool {
        self.workers.extend(worker(entry).map(str::to_owned));
        self.job.take(entry);
        !self.job.must_be_refolded()
    }

    /// The job that asks.
    #[must_use]
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// Whether the job was ever written to.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.job.seq() == Seq(0)
    }

    /// The status of a question; nothing when it was never asked.
    #[must_use]
    pub fn question(&self, ask: &AskId) -> Option<QuestionStatus<'_>> {
        self.job.question(ask)
    }

    /// Whether a name is that of an agent or a process that works for this job: those never answer
    /// for a person.
    #[must_use]
    pub fn is_crew(&self, name: &str) -> bool {
        let agent = self.job.agent().is_some_and(|agent| agent.name.as_str() == name);
        agent || self.workers.contains(name)
    }
}

/// The process that wrote an entry as a worker or a supervisor.
fn worker(entry: &Entry) -> Option<&str> {
    let works = matches!(entry.family, Family::In(Source::Crew) | Family::Do(..));
    entry.record.as_ref().ok().filter(|_| works).map(|record| record.by.as_str())
}

#[cfg(test)]
mod tests;
