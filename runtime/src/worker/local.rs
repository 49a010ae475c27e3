//! Work that a process carries out for its own supervisor, without the queue.
//!
//! A hand-over through the log costs a few milliseconds, which is much for work that takes less. The
//! pools of a process therefore offer themselves to its supervisor, which asks for *quick* commands:
//! those of a kind that took at most [`QUICK_MAX`] lately, by the measurements of the same pool. The
//! first command of each kind goes through the queue.
//!
//! Work that exceeds its time, panics or finds no slot has no result. Its command then goes through
//! the log, and any worker takes it. Only first attempts without effects outside are carried out
//! here ([`Decision::may_be_done_here`]), so a second run changes nothing. What it costs is not counted.

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use broker::Broker;
use futures::FutureExt;
use proto::{
    decision::{Decision, DecisionKind},
    fact::Fact,
    id::{JobId, Pool, Seq},
    trace::TraceContext,
};
use tokio::{sync::Semaphore, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    Command, LiveSink, Role, Task,
    observe::{Begun, Outcome, Process},
    options::PoolArgs,
};
use crate::telemetry;

/// Longest time that work of a kind may have taken lately to be carried out locally.
const QUICK_MAX: Duration = Duration::from_millis(20);
/// Largest number of kinds of work whose times are kept. Agents and models name them.
const KINDS_MAX: usize = 4_096;

/// The pools of this process that carry out quick commands for its supervisor. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct LocalPools(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    pools: Mutex<Vec<Arc<dyn Offer>>>,
    is_on: AtomicBool,
    /// `true` once the broker has refused a record of local work.
    is_forbidden: AtomicBool,
}

/// The result of a command that was carried out locally.
#[derive(Debug)]
pub struct LocalResult {
    /// Fact that answers the command.
    pub fact: Fact,
    /// Time that the work took.
    pub took: Duration,
}

/// A command for a pool of the same process.
#[derive(Debug, Clone, Copy)]
pub struct LocalCommand<'a> {
    /// Job of the command.
    pub job: &'a JobId,
    /// Position of the job's last record. The command itself is not stored.
    pub seq: Seq,
    /// The command.
    pub decision: &'a Decision,
    /// Trace of the job.
    pub trace: TraceContext,
    /// Time after which the work is dropped.
    pub limit: Duration,
}

impl LocalPools {
    /// Switches local work on or off; it is off at first. It is on while only processes of this release
    /// are live, as others may be unable to read its records.
    pub fn switch(&self, is_on: bool) {
        if self.0.is_on.swap(is_on, Ordering::Relaxed) != is_on {
            tracing::info!(is_on, "local work was switched");
        }
    }

    /// Ends local work for the life of the process: the broker does not permit its records.
    pub fn forbid(&self) {
        if !self.0.is_forbidden.swap(true, Ordering::Relaxed) {
            tracing::warn!("no local work: the broker forbids this process to store its records");
        }
    }

    fn is_on(&self) -> bool {
        let Shared { is_on, is_forbidden, .. } = &*self.0;
        is_on.load(Ordering::Relaxed) && !is_forbidden.load(Ordering::Relaxed)
    }

    /// Carries a command out if a pool of this process serves it, has a free slot and expects to need
    /// at most half of the limit.
    pub async fn carry_out(&self, command: LocalCommand<'_>) -> Option<LocalResult> {
        if !self.is_on() || !command.decision.may_be_done_here() {
            return None;
        }
        let pool = {
            let pools = self.0.pools.lock().unwrap_or_else(PoisonError::into_inner);
            pools.iter().find(|pool| pool.serves(command.decision)).cloned()
        };
        pool?.carry_out(command).await
    }

    pub(super) fn offer<R: Role>(&self, args: &PoolArgs<R>) {
        let pool = LocalPool {
            broker: args.broker.clone(),
            role: args.role.clone(),
            kind: args.options.kind,
            pool: args.options.pool.clone(),
            slots: Semaphore::new(args.options.slots),
            paces: args.paces.clone(),
            shutdown: args.shutdown.clone(),
        };
        self.0.pools.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(pool));
    }
}

/// A pool that carries out commands for the supervisor of its process.
#[async_trait]
trait Offer: std::fmt::Debug + Send + Sync {
    /// Returns `true` if the pool takes such commands from the queue.
    fn serves(&self, decision: &Decision) -> bool;

    async fn carry_out(&self, command: LocalCommand<'_>) -> Option<LocalResult>;
}

#[derive(derive_more::Debug)]
#[debug("LocalPool({} {pool})", kind.as_str())]
struct LocalPool<R> {
    broker: Broker,
    role: R,
    kind: DecisionKind,
    pool: Pool,
    /// Slots beside those of the queue, as many again.
    slots: Semaphore,
    paces: Paces,
    shutdown: CancellationToken,
}

#[async_trait]
impl<R: Role> Offer for LocalPool<R> {
    fn serves(&self, decision: &Decision) -> bool {
        decision.kind() == self.kind && decision.pool() == self.pool
    }

    async fn carry_out(&self, command: LocalCommand<'_>) -> Option<LocalResult> {
        let LocalCommand { job, seq, decision, trace, limit } = command;
        if self.shutdown.is_cancelled() || !self.paces.is_quick(decision, limit) {
            return None;
        }
        let _slot = self.slots.try_acquire().ok()?;
        let parsed = Arc::new(R::Command::parse(decision)?);
        let own = telemetry::child_of(trace);
        // Threads of the work outlive it, and watch this token.
        let canceled = CancellationToken::new();
        let _cancel = canceled.clone().drop_guard();
        let subject = self.broker.log.subjects().live(job);
        let task = Task {
            job: job.clone(),
            seq,
            command: parsed,
            trace: own,
            live: LiveSink::new(Arc::clone(&self.broker.bus), subject, decision),
            canceled,
        };
        let prefix = self.broker.log.subjects().prefix();
        let begun = Begun { prefix, job, decision, seq, trace: Some(trace), delivered: None };
        let process = Process::start(&begun, own);
        // In a task of its own, work that takes microseconds would wait for a turn of the scheduler,
        // and a loaded process would take it for slow. A panic ends the work and nothing else.
        let work = AssertUnwindSafe(telemetry::within(own, self.role.run(task))).catch_unwind();
        let started = Instant::now();
        let ended = tokio::time::timeout(limit, work).await;
        let took = started.elapsed();
        let (fact, outcome) = match ended {
            Ok(Ok(Some(fact))) => (Some(fact), Outcome::Done),
            Ok(Ok(None)) | Err(_) => (None, Outcome::GivenUp),
            // The panic hook logs the place. The queue's worker meets the same panic and reports it.
            Ok(Err(_)) => (None, Outcome::Broken),
        };
        process.end(outcome);
        match &fact {
            Some(fact) => self.paces.answered(decision, fact, took),
            None => self.paces.took(decision, took.max(QUICK_MAX * 2)),
        }
        fact.map(|fact| LocalResult { fact, took })
    }
}

/// The time that work of each kind took lately, in one pool. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Paces(Arc<Mutex<HashMap<String, Duration>>>);

impl Paces {
    /// Records the time until the answer to a command. A failure counts only if it took longer than
    /// answers did, because it may come sooner.
    pub(super) fn answered(&self, decision: &Decision, fact: &Fact, took: Duration) {
        if !fact.is_failure() || self.pace(decision).is_some_and(|pace| took > pace) {
            self.took(decision, took);
        }
    }

    /// Records the time that a command took. A longer time counts at once, a shorter one by a
    /// quarter of the difference.
    pub(super) fn took(&self, decision: &Decision, took: Duration) {
        let Some(kind) = kind_of_work(decision) else { return };
        let mut lately = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lately.len() >= KINDS_MAX && !lately.contains_key(&kind) {
            lately.clear();
        }
        let pace = lately.entry(kind).or_insert(took);
        *pace = if took >= *pace { took } else { *pace - (*pace - took) / 4 };
    }

    fn is_quick(&self, decision: &Decision, limit: Duration) -> bool {
        self.pace(decision).is_some_and(|pace| pace <= QUICK_MAX && pace * 2 <= limit)
    }

    fn pace(&self, decision: &Decision) -> Option<Duration> {
        let lately = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kind_of_work(decision).and_then(|kind| lately.get(&kind).copied())
    }
}

/// Names the kind of work whose time a command should take: the model, or the tool.
fn kind_of_work(decision: &Decision) -> Option<String> {
    let model = |model: Option<&str>| model.unwrap_or_default().to_owned();
    match decision {
        Decision::Plan(work) => Some(model(work.model.model.as_deref())),
        Decision::Turn(work) => Some(model(work.model.model.as_deref())),
        Decision::Call(work) => Some(work.tool.to_string()),
        Decision::Ask(_)
        | Decision::Wait(_)
        | Decision::Spawn(_)
        | Decision::Note(_)
        | Decision::Done(_)
        | Decision::Finish(_) => None,
    }
}
