//! The supervisor's side of a check: commands in, results out, without a supervisor.

use std::{sync::Arc, time::Duration};

use broker::{Broker, log::CasOutcome};
use futures::StreamExt;
use proto::{
    decision::{CallWork, Decision, DecisionKind, Finish},
    fact::{Called, Fact},
    id::{Attempt, Generation, JobId, Pool, Seq, Shard, StepId, ToolName, WorkId},
    interaction::approval_digest,
    job::Outcome,
    lang::Language,
    message::Usage,
    tool::{Approval, ToolSpec},
    trace::TraceContext,
};
use runtime::registry::Registry;
use serde_json::Value;

use super::process::WorkerProcess;
use crate::failure::CliError;

/// Longest wait for a worker that keeps the protocol.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);
/// Interval at which the queue is read.
const LOOK: Duration = Duration::from_millis(50);

/// The worker's tool, and calls of it.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) pool: Pool,
    pub(super) tool: ToolName,
    /// Arguments of a call that succeeds at once.
    pub(super) args: Value,
    /// Arguments of a call that runs for a long time.
    pub(super) slow: Option<Value>,
}

/// An installation without a supervisor, and the worker.
pub(super) struct Stage {
    pub(super) broker: Broker,
    pub(super) worker: WorkerProcess,
    pub(super) target: Target,
    registry: Registry,
    spec: Option<Arc<ToolSpec>>,
    /// Number of jobs so far.
    jobs: usize,
}

/// A job of a check.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) id: JobId,
    /// Position of its last decision.
    last: Seq,
    /// Number of its calls.
    calls: usize,
}

impl Stage {
    pub(super) async fn new(
        broker: Broker,
        target: Target,
        worker: WorkerProcess,
    ) -> Result<Self, CliError> {
        let registry = Registry::open(&broker).await;
        let registry = registry.map_err(|e| CliError::unavailable(e.to_string()))?;
        Ok(Self { broker, worker, target, registry, spec: None, jobs: 0 })
    }

    /// Stops the worker and closes the connection.
    pub(super) async fn end(mut self) {
        self.worker.kill();
        self.broker.log.close().await;
    }

    /// Returns the announced tool.
    pub(super) fn spec(&self) -> Option<&Arc<ToolSpec>> {
        self.spec.as_ref()
    }

    /// Waits for the announcement; the error is the reason of a refusal, or empty.
    pub(super) async fn announced(&mut self) -> Result<(), String> {
        let mut changes = self.registry.watch();
        let waiting = async {
            while self.registry.get(&self.target.tool).is_none() && changes.changed().await.is_ok()
            {
            }
        };
        let _ = tokio::time::timeout(PATIENCE, waiting).await;
        let found = self.registry.get(&self.target.tool);
        self.spec = found.map(|found| Arc::new(found.spec.clone()));
        let refused = self.registry.refused().into_iter();
        let mut why =
            refused.filter(|(name, _)| name == self.target.tool.as_str()).map(|(_, why)| why);
        if self.spec.is_some() { Ok(()) } else { Err(why.next_back().unwrap_or_default()) }
    }

    /// Creates a job whose log is in a shard.
    pub(super) fn job(&mut self, shard: u16) -> Job {
        let shards = self.broker.log.subjects().shards();
        loop {
            self.jobs += 1;
            let id = JobId::new(format!("check-{}", self.jobs)).expect("letters and digits");
            if Shard::of(&id, shards) == Shard(shard) {
                return Job { id, last: Seq(0), calls: 0 };
            }
        }
    }

    /// Builds the next call of a job, approved if the tool needs it.
    pub(super) fn call(&self, job: &mut Job, args: &Value) -> CallWork {
        job.calls += 1;
        let spec = self.spec.as_deref();
        let work = format!("g0.r0.s{}", job.calls);
        let version = spec.map(|spec| spec.version.clone()).unwrap_or_default();
        let tool = self.target.tool.clone();
        let digest = approval_digest(&job.id, &work, &tool, &version, args);
        let needs = spec.is_some_and(|spec| spec.approval == Approval::Always);
        CallWork {
            idempotency_key: format!("{}/{work}", job.id),
            work: WorkId::new(work).expect("letters, digits and dots"),
            attempt: Attempt::FIRST,
            step: StepId::new("1").expect("a digit"),
            tool,
            version,
            pool: self.target.pool.clone(),
            effect: spec.map(|spec| spec.effect).unwrap_or(proto::tool::Effect::Pure),
            destructive: spec.is_some_and(|spec| spec.destructive),
            untrusted: spec.is_some_and(|spec| spec.untrusted),
            args: args.clone(),
            approved: needs.then_some(digest),
            remembered: None,
            refused: None,
            hosts: None,
            language: Language::En,
        }
    }

    /// Appends a call to its job.
    pub(super) async fn send(&self, job: &mut Job, call: &CallWork) -> Result<(), CliError> {
        self.decide(job, &Decision::Call(call.clone())).await
    }

    /// Ends a job.
    pub(super) async fn finish(&self, job: &mut Job) -> Result<(), CliError> {
        let finish = Finish {
            outcome: Outcome::Canceled { reason: None },
            usage: Usage::default(),
            generation: Generation::default(),
        };
        self.decide(job, &Decision::Finish(finish)).await
    }

    async fn decide(&self, job: &mut Job, decision: &Decision) -> Result<(), CliError> {
        let (log, trace) = (&self.broker.log, TraceContext::new(7, 7, false));
        match log.decide(&job.id, decision, job.last, None, trace).await {
            Ok(CasOutcome::Stored(seq)) => {
                job.last = seq;
                Ok(())
            }
            Ok(CasOutcome::Conflict) => Err(CliError::internal("a foreign decision")),
            Err(error) => Err(CliError::unavailable(error.to_string())),
        }
    }

    /// Waits for the result of a call.
    pub(super) async fn result(
        &self,
        job: &Job,
        call: &CallWork,
    ) -> Result<Option<Called>, CliError> {
        let entries = self.broker.log.watch(&job.id, Seq(0)).await;
        let mut entries = entries.map_err(|e| CliError::unavailable(e.to_string()))?;
        let first = async {
            while let Some(Ok(entry)) = entries.next().await {
                let fact = entry.record.ok().and_then(|record| record.fact());
                if let Some(Fact::Called(called)) = fact
                    && (&called.work, called.attempt) == (&call.work, call.attempt)
                {
                    return Some(called);
                }
            }
            None
        };
        Ok(tokio::time::timeout(PATIENCE, first).await.ok().flatten())
    }

    /// Appends a call and waits for its result.
    pub(super) async fn ask(
        &self,
        job: &mut Job,
        call: &CallWork,
    ) -> Result<Option<Called>, CliError> {
        self.send(job, call).await?;
        self.result(job, call).await
    }

    /// Counts the results in a job's log.
    pub(super) async fn results(&self, job: &Job) -> Result<usize, CliError> {
        let entries = self.broker.log.read(&job.id, Seq(0)).await;
        let entries = entries.map_err(|e| CliError::unavailable(e.to_string()))?;
        Ok(entries.iter().filter(|e| e.record.as_ref().is_ok_and(|r| r.is_result())).count())
    }

    /// Returns the number of delivered and unacknowledged calls.
    pub(super) async fn in_flight(&self) -> Result<u64, CliError> {
        Ok(self.depth().await?.in_flight)
    }

    async fn depth(&self) -> Result<broker::log::Depth, CliError> {
        let depth = self.broker.log.depth(DecisionKind::Call, &self.target.pool).await;
        depth.map_err(|e| CliError::unavailable(e.to_string()))
    }

    /// Waits until a call is delivered to the worker.
    pub(super) async fn delivered(&self) -> Result<bool, CliError> {
        self.until(PATIENCE, |depth| depth.in_flight > 0).await
    }

    /// Waits until every call is acknowledged.
    pub(super) async fn acknowledged(&self, within: Duration) -> Result<bool, CliError> {
        self.until(within, |depth| depth.in_flight + depth.pending == 0).await
    }

    async fn until(
        &self,
        within: Duration,
        reached: impl Fn(broker::log::Depth) -> bool,
    ) -> Result<bool, CliError> {
        let end = tokio::time::Instant::now() + within;
        loop {
            if reached(self.depth().await?) {
                return Ok(true);
            }
            if tokio::time::Instant::now() > end {
                return Ok(false);
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}
