//! Appending to the logs of jobs, and arming and cancelling timers.

use ambassador::delegatable_trait;
use async_trait::async_trait;
use jiff::Timestamp;
use proto::{
    decision::Decision,
    entry::Entry,
    fact::{Fact, Source},
    id::{JobId, Seq, TimerName},
    trace::TraceContext,
};

use super::LogError;

/// The outcome of a compare-and-set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CasOutcome {
    /// The record is stored at this position.
    Stored(Seq),
    /// Another record is stored at the expected position. Read the log and decide again.
    Conflict,
}

/// The outcome of a submission.
#[derive(Debug)]
pub enum Submission {
    /// The submission is stored as the job's first record.
    Stored(Seq),
    /// The job already exists; this is its first record.
    Exists(Box<Entry>),
}

/// Appends to the logs of jobs.
///
/// Every method returns only when its outcome is *known*, or fails with [`LogError::Unknown`]: an
/// error reply, a timeout and even a conflict reply are settled by reading the log and looking for
/// the record's own id.
#[async_trait]
#[delegatable_trait]
pub trait Writer: Send + Sync + 'static {
    /// Stores a job's first record. Once this returns [`Submission::Stored`], the job survives the
    /// death of every process, and a supervisor will process it. At most one submission of a job is
    /// ever stored, for as long as its log is kept.
    async fn submit(
        &self,
        job: &JobId,
        fact: &Fact,
        trace: TraceContext,
    ) -> Result<Submission, LogError>;

    /// Stores a fact of the source that appends its kind ([`Fact::source`]). Once this returns, the
    /// fact will be delivered to the shard's supervisor. A lost reply may lead to a second copy,
    /// which the fold ignores.
    async fn append(&self, job: &JobId, fact: &Fact, trace: TraceContext) -> Result<Seq, LogError> {
        self.append_from(&fact.source(), job, fact, trace).await
    }

    /// Like [`Writer::append`], for a fact of this source: a report on a call is believed only from
    /// the pool of its tool.
    async fn append_from(
        &self,
        source: &Source,
        job: &JobId,
        fact: &Fact,
        trace: TraceContext,
    ) -> Result<Seq, LogError>;

    /// Stores a fact like [`Writer::append`] if the job has no record after the position `after`. A
    /// log that changes all the time may be a conflict too; no record comes between.
    async fn append_after(
        &self,
        job: &JobId,
        fact: &Fact,
        after: Seq,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError>;

    /// Stores an answer if the job's last fact from a person is at `after` (0 for none). Of several
    /// answers with the same `after`, exactly one is stored.
    async fn answer(
        &self,
        job: &JobId,
        fact: &Fact,
        after: Seq,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError>;

    /// Stores a decision if the job's last decision is at `after` (0 for none), and cancels the
    /// timer `disarm` in the same write. Of several supervisors with the same `after`, exactly one
    /// gets [`CasOutcome::Stored`]; a conflict leaves the timer armed.
    async fn decide(
        &self,
        job: &JobId,
        decision: &Decision,
        after: Seq,
        disarm: Option<&TimerName>,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError>;

    /// Schedules `Fired { timer }` to be appended to the job at `at`, by the broker itself: never
    /// earlier, at least once, across restarts. Replaces a timer of the same name.
    async fn arm(
        &self,
        job: &JobId,
        timer: &TimerName,
        at: Timestamp,
        trace: TraceContext,
    ) -> Result<(), LogError>;

    /// Cancels a timer. It may have fired already.
    async fn disarm(&self, job: &JobId, timer: &TimerName) -> Result<(), LogError>;
}
