//! The lease of a process on one command: heartbeats, stop hints, the check in the log whether the
//! job still needs the result, and the store of the result.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use broker::{
    Broker,
    backoff::{Backoff, Retryable},
    log::{Ack, LogError},
};
use machine::cancellation::{Cancellation, Verdict};
use proto::{
    decision::Decision,
    fact::Fact,
    id::{JobId, Seq, WorkerId},
    trace::TraceContext,
    wire::LiveUpdate,
};
use tokio::{
    sync::Notify,
    time::{Instant, MissedTickBehavior},
};
use tokio_util::sync::CancellationToken;

use super::{LiveSink, local::Paces, observe::Begun, pool::millis};

/// Time after which a running task names its worker to the watchers of its job.
const SAY_TAKEN_AFTER: Duration = Duration::from_millis(100);
/// Waits before the reads of the log that follow a stop hint: one read at once, and two later ones
/// in case the hint overtook its record.
const LOOK_AFTER_HINT: [Duration; 3] =
    [Duration::ZERO, Duration::from_millis(250), Duration::from_secs(1)];
/// Backoff between attempts to store a result: the shortest and the longest wait.
const STORE_AGAIN: Backoff = Backoff::doubling(Duration::from_millis(100), Duration::from_secs(5));
/// Wait before the next read after the job's log could not be read.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// The lease of a process on one command, until the command is acknowledged.
#[derive(Clone)]
pub(super) struct Lease {
    pub(super) broker: Broker,
    pub(super) worker: WorkerId,
    /// The name of the role.
    pub(super) role: &'static str,
    pub(super) job: JobId,
    pub(super) seq: Seq,
    pub(super) decision: Arc<Decision>,
    pub(super) stops_when_cut_off: bool,
    pub(super) delivered: u64,
    pub(super) deliveries_max: u64,
    pub(super) trace: Option<TraceContext>,
    pub(super) ack: Arc<dyn Ack>,
    pub(super) heartbeat: Duration,
    pub(super) stop_grace: Duration,
    /// Canceled when the drain deadline passes.
    pub(super) abort: CancellationToken,
    /// Notified at each stop hint for the job.
    pub(super) hint: Arc<Notify>,
    /// The origin of `last_beat`.
    pub(super) started: Instant,
    /// The last sign of life of the task, in milliseconds.
    pub(super) last_beat: Arc<AtomicU64>,
    /// The times that commands of the pool took.
    pub(super) paces: Paces,
}

/// A reason to end a task early.
pub(super) enum Interrupt {
    /// The job no longer needs the result.
    Unwanted,
    /// The broker hears no heartbeat, and may deliver the command to another worker.
    CutOff,
    /// The drain deadline has passed.
    Abort,
}

impl Lease {
    /// Returns the command as measurements name it.
    pub(super) fn begun(&self) -> Begun<'_> {
        Begun {
            prefix: self.broker.log.subjects().prefix(),
            job: &self.job,
            decision: &self.decision,
            seq: self.seq,
            trace: self.trace,
            delivered: Some(self.delivered),
        }
    }

    /// Records a sign of life of the task.
    pub(super) fn beat(&self) {
        self.last_beat.store(millis(self.started.elapsed()), Ordering::Relaxed);
    }

    /// Returns whether the job may have ended, or the command been answered, before this delivery.
    /// A redelivered command was held by another worker before. A command with effects may have
    /// waited in the queue while its job was canceled. For all other commands a read of the log is
    /// not worth its cost.
    pub(super) fn may_be_late(&self) -> bool {
        self.delivered > 1 || self.stops_when_cut_off
    }

    /// Returns whether the job needs the command before it runs. Retries until the log answers.
    pub(super) async fn is_wanted(&self) -> bool {
        let mut wanted = Cancellation::new(self.seq, &self.decision);
        loop {
            match self.verdict(&mut wanted).await {
                Ok(verdict) => return verdict == Verdict::Wanted,
                Err(error) => {
                    tracing::warn!(%error, "the job's log could not be read; retrying");
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
            }
        }
    }

    /// Keeps the command alive until there is a reason to end the task.
    pub(super) async fn guard(&self, live: &LiveSink) -> Interrupt {
        let taken = async {
            tokio::time::sleep(SAY_TAKEN_AFTER).await;
            live.send(LiveUpdate::Taken { worker: self.worker.clone() }).await;
            std::future::pending().await
        };
        tokio::select! {
            biased;
            () = self.abort.cancelled() => Interrupt::Abort,
            interrupt = self.watch() => interrupt,
            never = taken => never,
        }
    }

    /// Sends heartbeats, and reads the log after each heartbeat and each hint.
    async fn watch(&self) -> Interrupt {
        let mut wanted = Cancellation::new(self.seq, &self.decision);
        let log = &*self.broker.log;
        // The last heartbeat that the broker certainly heard. The command can go to another worker
        // one acknowledgement wait after it, and the task needs time to clean up before that.
        let mut heard = Instant::now();
        let limit = log.ack_wait().saturating_sub(self.stop_grace.min(log.ack_wait() / 3));
        let mut beats = tokio::time::interval_at(heard + self.heartbeat, self.heartbeat);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let hinted = tokio::select! {
                biased;
                () = tokio::time::sleep_until(heard + limit), if self.stops_when_cut_off => {
                    return Interrupt::CutOff;
                }
                () = self.hint.notified() => true,
                _ = beats.tick() => false,
            };
            self.beat();
            let sent = Instant::now();
            self.ack.working().await;
            let looked = tokio::select! {
                biased;
                looked = self.look(&mut wanted, hinted) => looked,
                () = tokio::time::sleep_until(heard + limit), if self.stops_when_cut_off => {
                    return Interrupt::CutOff;
                }
            };
            match looked {
                Ok(true) => return Interrupt::Unwanted,
                // The answer came after the heartbeat was sent, on the same connection.
                Ok(false) => heard = sent,
                Err(error) => tracing::debug!(%error, "the job's log could not be read"),
            }
        }
    }

    /// Folds the records since the last read into `wanted`.
    async fn verdict(&self, wanted: &mut Cancellation) -> Result<Verdict, LogError> {
        let entries = self.broker.log.read(&self.job, wanted.seen()).await?;
        Ok(wanted.take(&entries))
    }

    /// Returns whether the result is unwanted. A hint counts only when the log confirms it. The log
    /// is read several times after a hint, in case the hint overtook its record.
    async fn look(&self, wanted: &mut Cancellation, hinted: bool) -> Result<bool, LogError> {
        if !hinted {
            return Ok(self.verdict(wanted).await? == Verdict::Over);
        }
        for wait in LOOK_AFTER_HINT {
            tokio::time::sleep(wait).await;
            match self.verdict(wanted).await? {
                Verdict::Over | Verdict::Canceling => return Ok(true),
                Verdict::Wanted => {}
            }
        }
        tracing::debug!("the log does not confirm a stop hint");
        Ok(false)
    }

    /// Waits up to the stop grace for a canceled task to return, then drops the task.
    pub(super) async fn let_clean_up(&self, work: impl Future) {
        if tokio::time::timeout(self.stop_grace, self.kept_alive(work)).await.is_err() {
            tracing::warn!("a canceled task did not return in time; it was dropped");
        }
    }

    /// Waits for `something` while the command is kept alive.
    pub(super) async fn kept_alive<T>(&self, something: impl Future<Output = T>) -> T {
        let beats = async {
            loop {
                tokio::time::sleep(self.heartbeat).await;
                self.beat();
                self.ack.working().await;
            }
        };
        tokio::select! {
            biased;
            out = something => out,
            never = beats => never,
        }
    }

    /// Appends the fact, with retries after transient errors, until it is stored or refused.
    pub(super) async fn append(&self, fact: &Fact, trace: TraceContext) -> Result<(), LogError> {
        let source = self.decision.answered_by().unwrap_or_else(|| fact.source());
        let append = || self.broker.log.append_from(&source, &self.job, fact, trace);
        append
            .retry(STORE_AGAIN)
            .when(LogError::is_transient)
            .notify(|error, _| {
                tracing::warn!(%error, "a result could not be stored; retrying");
            })
            .await
            .map(drop)
    }
}
