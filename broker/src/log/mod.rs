//! The log of jobs: what it promises, on whatever it is kept.
//!
//! Two implementations, [`crate::nats`] and [`crate::memory`], are held to one contract test suite
//! that includes JetStream's nasty habits: a conflict reply may lie, a late acknowledgement is
//! honoured, a redelivery overtakes, a duplicate is not always noticed.

pub mod claim;
mod entry;
mod error;
mod load;
mod progress;
pub(crate) mod settle;

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use futures::stream::BoxStream;
use jiff::Timestamp;
use proto::{
    decision::{Decision, DecisionKind},
    entry::Entry,
    fact::Fact,
    id::{JobId, Pool, Seq, Shard, TimerName},
    subject::Subjects,
    trace::TraceContext,
};
use tokio::sync::Semaphore;

pub use self::{
    entry::{Ack, Delivery},
    error::LogError,
    load::{QueueLoad, ShardLoad, Storage},
    progress::{Armed, Progress, Queue, Whereabouts},
};

/// What became of a write that is only made at a certain position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CasOutcome {
    /// It is stored, here.
    Stored(Seq),
    /// Something else is stored at that position. Read the log and think again.
    Conflict,
}

/// What became of a submission.
#[derive(Debug)]
pub enum Submission {
    /// It is stored, and it is the job's first record.
    Stored(Seq),
    /// The job was there already; this is its first record.
    Exists(Box<Entry>),
}

/// What the feed of a shard's facts gives.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every item is a fact, and none is kept")]
pub enum Feed {
    /// A fact. Acknowledge it when the decisions it led to are stored, not before.
    Fact(Delivery),
    /// Somebody else may have been given facts of this shard since the last one from here: what is
    /// cached of its jobs can no longer be trusted. Also the first item of every feed.
    Reset,
}

/// How many commands wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Depth {
    /// Not handed out yet.
    pub pending: u64,
    /// Handed out and not acknowledged.
    pub in_flight: u64,
}

/// The log of all jobs of an installation.
///
/// Every method that writes returns only when the outcome is *known*, or fails with
/// [`LogError::Unknown`]: an error reply, a timeout and even a conflict reply are settled by reading
/// the log and looking for the record's own id.
#[async_trait]
pub trait Log: Send + Sync + 'static {
    /// The subjects of the installation.
    fn subjects(&self) -> &Subjects;

    /// Stores a job's first record. Once this returns [`Submission::Stored`], the job survives the
    /// death of every process, and it will be looked at. At most one submission of a job is ever
    /// stored, for as long as its log is kept.
    async fn submit(
        &self,
        job: &JobId,
        fact: &Fact,
        trace: TraceContext,
    ) -> Result<Submission, LogError>;

    /// Stores a fact. Once this returns it will be delivered to the shard's supervisor. It may be
    /// stored twice when the first reply was lost: the fold ignores the second.
    async fn append(&self, job: &JobId, fact: &Fact, trace: TraceContext) -> Result<Seq, LogError>;

    /// Stores an answer if the job's last fact from a person is at `after` (0 for none). Of several
    /// answers that saw the same position exactly one is stored.
    async fn answer(
        &self,
        job: &JobId,
        fact: &Fact,
        after: Seq,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError>;

    /// Stores a decision if the job's last decision is at `after` (0 for none), and in the same
    /// write cancels the timer `disarm`. Of several deciders that saw the same position exactly one
    /// is told [`CasOutcome::Stored`]; a conflict leaves the timer armed.
    async fn decide(
        &self,
        job: &JobId,
        decision: &Decision,
        after: Seq,
        disarm: Option<&TimerName>,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError>;

    /// A job's records after a position, in the order of the log, without timers. Holds every
    /// record whose write had been acknowledged to anybody before this was called.
    async fn read(&self, job: &JobId, after: Seq) -> Result<Vec<Entry>, LogError>;

    /// A job's records after a position, then those that are stored from now on, without a gap and
    /// in order. Ends only with an error or when it is dropped.
    async fn watch(
        &self,
        job: &JobId,
        after: Seq,
    ) -> Result<BoxStream<'static, Result<Entry, LogError>>, LogError>;

    /// The facts of a shard. At most one feed per shard is handed facts at a time; another takes
    /// over within a few seconds of the first one's death. Facts that were handed out and not
    /// acknowledged are handed out again, possibly after later ones.
    async fn facts(
        &self,
        shard: Shard,
    ) -> Result<BoxStream<'static, Result<Feed, LogError>>, LogError>;

    /// Jobs of a shard with facts that were handed out and not acknowledged: what a supervisor that
    /// takes a shard over must look at first. May name others whose facts were handed out lately.
    async fn unsettled(&self, shard: Shard) -> Result<Vec<JobId>, LogError>;

    /// Commands of one kind for one pool, from all shards. Each command is handed to one worker at
    /// a time and handed out again when it is not acknowledged, or kept alive, within
    /// [`Log::ack_wait`]. No more are taken from the queue than `slots` has permits; a delivery
    /// holds its permit until it is dropped.
    async fn commands(
        &self,
        kind: DecisionKind,
        pool: &Pool,
        slots: Arc<Semaphore>,
    ) -> Result<BoxStream<'static, Result<Delivery, LogError>>, LogError>;

    /// How many commands of one kind wait for one pool, over all shards.
    async fn depth(&self, kind: DecisionKind, pool: &Pool) -> Result<Depth, LogError>;

    /// How long a command may go without a sign of life before it is handed to another worker.
    fn ack_wait(&self) -> std::time::Duration;

    /// Has `Fired { timer }` appended to the job at a time, by the broker itself: never before it,
    /// at least once, restarts included. A timer of the same name is replaced.
    async fn arm(
        &self,
        job: &JobId,
        timer: &TimerName,
        at: Timestamp,
        trace: TraceContext,
    ) -> Result<(), LogError>;

    /// Cancels a timer. It may have fired already.
    async fn disarm(&self, job: &JobId, timer: &TimerName) -> Result<(), LogError>;

    /// Jobs of a shard, newest submission first, those before a position, at most `limit`.
    async fn submissions(
        &self,
        shard: Shard,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<Entry>, LogError>;

    /// Which of some jobs of one shard have ended, as far as is known where it is cheap to ask. One to
    /// which something was said through the door after its end is not among them, nor one in which
    /// something was decided after an end: it may have been rolled back. At most 1,000 jobs at a time.
    async fn finished_among(&self, jobs: &[JobId]) -> Result<BTreeSet<JobId>, LogError>;

    /// How far each queue of a shard has come. What was handed out and was not acknowledged when this
    /// was called is counted.
    async fn progress(&self, shard: Shard) -> Result<Vec<Progress>, LogError>;

    /// The timers of a job that are armed: they have neither fired nor been canceled.
    async fn armed(&self, job: &JobId) -> Result<BTreeSet<TimerName>, LogError>;

    /// All timers of a shard that are armed. Takes no more memory the more there are.
    async fn timers(
        &self,
        shard: Shard,
    ) -> Result<BoxStream<'static, Result<Armed, LogError>>, LogError>;

    /// How much a shard holds and what waits in it.
    async fn load(&self, shard: Shard) -> Result<ShardLoad, LogError>;

    /// How much all shards, buckets and objects of the account take, and may take.
    async fn storage(&self) -> Result<Storage, LogError>;

    /// Who keeps the log, in words: the program, its version, its name.
    fn server_info(&self) -> String;

    /// Asks the broker something small, and waits for the answer. Gives a number that is another one
    /// when the connection was lost in between.
    async fn ping(&self) -> Result<u64, LogError>;

    /// Sends what is still to be sent and lets go of the broker, within a bounded time. Whatever is
    /// asked afterwards fails.
    async fn close(&self);

    /// Looks whether everything that jobs are kept in is as it must be. Changes nothing.
    async fn check(&self) -> Result<(), LogError>;

    /// Removes a job's log. There is no way back, and its id may be submitted again.
    async fn purge(&self, job: &JobId) -> Result<(), LogError>;

    /// Removes a job's records up to a position, and the timers that were armed before it, and tells
    /// how many messages that were; what was stored since stays. There is no way back.
    async fn purge_until(&self, job: &JobId, until: Seq) -> Result<u64, LogError>;

    /// The names of large values that stand in what a shard holds, page by page and with the job
    /// whose record it is, where that can be told. Nothing is left out because it cannot be read;
    /// names of other things of the same form are among them. Holds every record whose write had
    /// been acknowledged to anybody before this was called.
    async fn object_refs(
        &self,
        shard: Shard,
    ) -> Result<BoxStream<'static, Result<Vec<ObjectRefs>, LogError>>, LogError>;
}

/// What a stored message says of large values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectRefs {
    /// The job, when its subject can be read.
    pub job: Option<JobId>,
    /// The names.
    pub names: Vec<String>,
    /// The one among them under which the body of a submission is kept: that names the files of its
    /// job, which stand nowhere else.
    pub submission: Option<String>,
}

impl ObjectRefs {
    /// What a stored payload says.
    #[must_use]
    pub fn of(job: Option<JobId>, payload: &[u8]) -> Self {
        let names = crate::objects::names_in(payload);
        let submission = if names.is_empty() { None } else { claim::submission(payload) };
        Self { job, names, submission }
    }
}
