//! The assignment of one command to one short-lived actor, which runs the command, keeps it alive,
//! stores its result and acknowledges it. A command whose actor dies at any point is delivered
//! again.

use std::{future::Future, sync::Arc, time::Duration};

use proto::{fact::Fact, trace::TraceContext};
use ractor::ActorRef;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{
    Command, Failure, LiveSink, Task,
    lease::{Interrupt, Lease},
    observe::{self, Outcome},
};
use crate::telemetry;

/// Wait before a command whose result could not be stored is delivered again.
const UNSTORABLE_WAIT: Duration = Duration::from_secs(60);

/// A command that the pool gave to an actor of its role.
#[derive(derive_more::Debug)]
#[debug("Assignment {{ role: {}, job: {}, seq: {} }}", lease.role, lease.job, lease.seq)]
pub struct Assignment<C> {
    pub(super) lease: Lease,
    pub(super) command: Arc<C>,
    pub(super) mission: Mission,
}

/// The task of an actor.
pub(super) enum Mission {
    /// Carry the command out.
    Run,
    /// Report that the actor before it broke.
    Report(String),
}

/// The outcome of one run of a task.
enum End {
    /// The task is done. The fact, if any, is still to be stored.
    Done(Option<Box<Fact>>),
    /// The job no longer needs the result.
    Unwanted,
    /// This process gives the command back, and the broker delivers it to another worker.
    GivenUp,
    /// The broker heard no heartbeat in time, and delivers the command to another worker, or has
    /// already done so.
    CutOff,
}

impl<C: Command> Assignment<C> {
    /// Carries the command out with `run`, stores the fact that `run` returns, acknowledges the
    /// command and stops `actor`. A command whose `run` returns no fact is only acknowledged. `run`
    /// must not block the thread. It is not called when the job no longer needs the command, or
    /// when this actor is to report a failure.
    pub async fn carry_out<F, W>(self, actor: &ActorRef<Self>, run: F)
    where
        F: FnOnce(Task<C>) -> W + Send,
        W: Future<Output = Option<Fact>> + Send,
    {
        let lease = &self.lease;
        let trace = lease.trace.map_or_else(telemetry::new_trace, telemetry::child_of);
        // An error span, so that lines of every level are inside it.
        let span = tracing::error_span!(
            "task",
            work = lease.role,
            job = %lease.job,
            seq = %lease.seq,
            trace_id = %format_args!("{:032x}", trace.trace_id()),
            span_id = %format_args!("{:016x}", trace.span_id()),
        );
        let process = observe::Process::start(&lease.begun(), trace);
        let settled = Box::pin(self.settle(run, trace)).instrument(span);
        process.end(telemetry::within(trace, settled).await);
        actor.stop(None);
    }

    async fn settle<F, W>(&self, run: F, trace: TraceContext) -> Outcome
    where
        F: FnOnce(Task<C>) -> W + Send,
        W: Future<Output = Option<Fact>> + Send,
    {
        let lease = &self.lease;
        let (end, outcome) = match &self.mission {
            Mission::Report(why) => match self.command.failed(&Failure::Broken(why.clone())) {
                Some(fact) => (End::Done(Some(Box::new(fact))), Outcome::Broken),
                None => {
                    lease.ack.later(lease.heartbeat).await;
                    return Outcome::Broken;
                }
            },
            Mission::Run => match self.lost() {
                Some(fact) => (End::Done(Some(Box::new(fact))), Outcome::Lost),
                None => (self.run(run, trace).await, Outcome::Done),
            },
        };
        match end {
            End::Done(Some(fact)) => {
                if self.store(&fact, trace).await {
                    outcome
                } else {
                    Outcome::GivenUp
                }
            }
            End::Done(None) => {
                lease.ack.done().await;
                outcome
            }
            End::Unwanted => {
                tracing::info!("the result is no longer needed");
                lease.ack.done().await;
                Outcome::Unwanted
            }
            End::GivenUp => {
                lease.ack.later(Duration::ZERO).await;
                Outcome::GivenUp
            }
            // The broker may have delivered the command again. A negative acknowledgement of this
            // delivery would cause one more delivery, beside the worker that has the command. The
            // broker redelivers by itself when it hears nothing.
            End::CutOff => Outcome::GivenUp,
        }
    }

    /// Returns the fact that reports a command with too many deliveries; `None` when the bound is
    /// not exceeded, or when the role reports no such failure.
    fn lost(&self) -> Option<Fact> {
        let delivered = self.lease.delivered;
        if delivered <= self.lease.deliveries_max {
            return None;
        }
        let fact = self.command.failed(&Failure::Lost { delivered })?;
        tracing::error!(delivered, "the workers of a command died; reported lost");
        Some(fact)
    }

    /// Runs the task beside its lease's guard. The first of the two to end determines the outcome.
    async fn run<F, W>(&self, run: F, trace: TraceContext) -> End
    where
        F: FnOnce(Task<C>) -> W + Send,
        W: Future<Output = Option<Fact>> + Send,
    {
        let lease = &self.lease;
        let canceled = CancellationToken::new();
        let subject = lease.broker.log.subjects().live(&lease.job);
        let live = LiveSink::new(Arc::clone(&lease.broker.bus), subject, &lease.decision);
        let task = Task {
            job: lease.job.clone(),
            seq: lease.seq,
            command: Arc::clone(&self.command),
            trace,
            live: live.clone(),
            canceled: canceled.clone(),
        };
        let mut work = Box::pin(async {
            if lease.may_be_late() {
                let wanted = tokio::select! {
                    biased;
                    () = canceled.cancelled() => return End::Done(None),
                    wanted = lease.is_wanted() => wanted,
                };
                if !wanted {
                    return End::Unwanted;
                }
            }
            let started = Instant::now();
            let fact = run(task).await;
            if let Some(fact) = &fact {
                lease.paces.answered(&lease.decision, fact, started.elapsed());
            }
            End::Done(fact.map(Box::new))
        });
        let interrupt = tokio::select! {
            biased;
            end = &mut work => return end,
            interrupt = lease.guard(&live) => interrupt,
        };
        canceled.cancel();
        match interrupt {
            Interrupt::Unwanted => {
                lease.let_clean_up(work).await;
                End::Unwanted
            }
            Interrupt::CutOff => {
                tracing::warn!(
                    "the connection to the broker is lost; stopped before another worker receives the command"
                );
                lease.let_clean_up(work).await;
                End::CutOff
            }
            Interrupt::Abort => End::GivenUp,
        }
    }

    /// Stores the fact, retrying until it is stored or refused, and acknowledges the command.
    /// Returns `false` when the command is left for redelivery.
    async fn store(&self, fact: &Fact, trace: TraceContext) -> bool {
        let lease = &self.lease;
        let stored = tokio::select! {
            biased;
            stored = lease.kept_alive(lease.append(fact, trace)) => stored,
            () = lease.abort.cancelled() => {
                lease.ack.later(Duration::ZERO).await;
                return false;
            }
        };
        let Err(error) = stored else {
            lease.ack.done().await;
            return true;
        };
        tracing::error!(%error, "a result could not be stored");
        observe::dead_letter("unstorable");
        let failure = Failure::Broken(format!("the result could not be stored: {error}"));
        let Some(substitute) = self.command.failed(&failure) else {
            lease.ack.later(UNSTORABLE_WAIT).await;
            return false;
        };
        match lease.kept_alive(lease.append(&substitute, trace)).await {
            Ok(()) => {
                lease.ack.done().await;
                true
            }
            Err(error) => {
                tracing::error!(%error, "the fault could not be stored either; retrying later");
                lease.ack.later(UNSTORABLE_WAIT).await;
                false
            }
        }
    }
}
