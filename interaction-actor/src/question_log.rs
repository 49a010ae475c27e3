//! The questions of one job, from the fold of its log, and the names that must not answer them.

use std::collections::BTreeSet;

use broker::log::{Log, LogError};
use machine::{Job, QuestionStatus, replay};
use proto::{
    entry::Entry,
    id::{AskId, JobId, Seq},
    subject::Family,
};

/// The fold of a job's log, updated while its questions are of interest.
#[derive(Debug, Clone)]
pub struct QuestionLog {
    job: Job,
    /// Processes that wrote decisions or results of the job.
    workers: BTreeSet<String>,
}

impl QuestionLog {
    /// Creates a log without records.
    #[must_use]
    pub fn new(job: JobId) -> Self {
        Self { job: Job::new(job), workers: BTreeSet::new() }
    }

    /// Reads and folds a job's log.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub async fn read(log: &dyn Log, job: &JobId) -> Result<Self, LogError> {
        Ok(Self::of(job, &log.read(job, Seq(0)).await?))
    }

    /// Folds the given records of a whole log.
    #[must_use]
    pub fn of(job: &JobId, entries: &[Entry]) -> Self {
        let workers = entries.iter().filter_map(worker).map(str::to_owned).collect();
        Self { job: replay(job, entries), workers }
    }

    /// Folds the records stored since the last read. Folds the whole log again after a rollback.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub async fn catch_up(&mut self, log: &dyn Log) -> Result<(), LogError> {
        for entry in log.read(self.job.id(), self.job.seq()).await? {
            if !self.take(&entry) {
                *self = Self::read(log, &self.job.id().clone()).await?;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Folds the next entry. Returns `false` after a rollback: the whole log must be folded again.
    #[must_use]
    pub fn take(&mut self, entry: &Entry) -> bool {
        self.workers.extend(worker(entry).map(str::to_owned));
        self.job.take(entry);
        !self.job.must_be_refolded()
    }

    /// The folded job.
    #[must_use]
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// `true` if no record has been folded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.job.seq() == Seq(0)
    }

    /// Returns the status of a question; `None` if the job has not asked it.
    #[must_use]
    pub fn question(&self, ask: &AskId) -> Option<QuestionStatus<'_>> {
        self.job.question(ask)
    }

    /// `true` for the name of the job's agent or of a process that works for the job: these must
    /// never answer for a person.
    #[must_use]
    pub fn is_crew(&self, name: &str) -> bool {
        let agent = self.job.agent().is_some_and(|agent| agent.name.as_str() == name);
        agent || self.workers.contains(name)
    }
}

/// Returns the writer of an entry, if it acted as a worker or a supervisor.
fn worker(entry: &Entry) -> Option<&str> {
    let works = match &entry.family {
        Family::In(source) => source.is_worker(),
        Family::Do(..) => true,
        Family::At(_) | Family::UnknownIn(_) | Family::UnknownDo(_) => false,
    };
    entry.record.as_ref().ok().filter(|_| works).map(|record| record.by.as_str())
}

#[cfg(test)]
mod tests;
