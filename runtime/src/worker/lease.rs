//! The hold of a process on one command: heartbeats, stop hints, the log's word on whether the result
//! is still wanted, and the store of the result.

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
    log::{Ack, LogError},
};
use machine::cancellation::{Cancellation, Verdict};
use proto::{
    decision::Decision,
    fact::Fact,
    id::{JobId, Seq, WorkerId},
    trace::TraceContext,
    wire::Said,
};
use tokio::{
    sync::Notify,
    time::{Instant, MissedTickBehavior},
};
use tokio_util::sync::CancellationToken;

use super::{LiveSink, pool::millis};

/// Tasks that take longer than this name their worker to the people who watch.
const SAY_TAKEN_AFTER: Duration = Duration::from_millis(100);
/// Looks at the log after a stop hint: at once, and again in case the hint overtook its record.
const LOOK_AFTER_HINT: [Duration; 3] =
    [Duration::ZERO, Duration::from_millis(250), Duration::from_secs(1)];
/// Backoff between attempts to store a result: shortest and longest wait.
const STORE_AGAIN: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];
/// Wait before the next attempt to find out whether a command is wanted.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// The hold of a process on one command, until it acknowledges the command.
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
    /// Canceled when the time to drain is over.
    pub(super) abort: CancellationToken,
    /// Notified of each stop hint.
    pub(super) hint: Arc<Notify>,
    /// The origin of `last_beat`.
    pub(super) started: Instant,
    /// The last sign of life of the task, in milliseconds.
    pub(super) last_beat: Arc<AtomicU64>,
}

/// The reason to end a task early.
pub(super) enum Interrupt {
    /// Its result is not wanted.
    Unwanted,
    /// The broker does not hear of it, and may deliver the command to another worker.
    CutOff,
    /// The time to drain is over.
    Abort,
}

impl Lease {
    /// Notes a sign of life of the task.
    pub(super) fn beat(&self) {
        self.last_beat.store(millis(self.started.elapsed()), Ordering::Relaxed);
    }

    /// Whether the job may have ended, or the command been answered, before this delivery. Another
    /// worker had a command that is delivered again. A command with effects may have waited in the
    /// queue while its job was canceled. For all others the log is not worth a look.
    pub(super) fn may_be_late(&self) -> bool {
        self.delivered > 1 || self.stops_when_cut_off
    }

    /// Whether the command is wanted before it runs. Asks until the log answers.
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
            live.send(Said::Taken { worker: self.worker.clone() }).await;
            std::future::pending().await
        };
        tokio::select! {
            biased;
            () = self.abort.cancelled() => Interrupt::Abort,
            interrupt = self.watch() => interrupt,
            never = taken => never,
        }
    }

    /// Sends heartbeats, and looks at the log with each of them and with every hint.
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

    /// Reads the records since the last look.
    async fn verdict(&self, wanted: &mut Cancellation) -> Result<Verdict, LogError> {
        let entries = self.broker.log.read(&self.job, wanted.seen()).await?;
        Ok(wanted.take(&entries))
    }

    /// Whether the result is unwanted. A hint counts only when the log confirms it, and is checked
    /// again in case it overtook its record.
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

    /// Waits a bounded time for a canceled task to return, and drops one that does not.
    pub(super) async fn let_clean_up(&self, work: impl Future) {
        if tokio::time::timeout(self.stop_grace, self.kept_alive(work)).await.is_err() {
            tracing::warn!("a canceled task did not return in time; it was dropped");
        }
    }

    /// Waits for something while the command is kept alive.
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

    /// Appends the fact until it is stored, or cannot be.
    pub(super) async fn append(&self, fact: &Fact, trace: TraceContext) -> Result<(), LogError> {
        let [mut wait, longest] = STORE_AGAIN;
        loop {
            match self.broker.log.append(&self.job, fact, trace).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_transient() => {
                    tracing::warn!(%error, "a result could not be stored; retrying");
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(longest);
                }
                Err(error) => return Err(error),
            }
        }
    }
}
