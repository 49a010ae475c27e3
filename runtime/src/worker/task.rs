//! One command in the hands of one short-lived actor: run it, keep it alive, store what came of it,
//! acknowledge. Dying at any point leaves the command to be handed out again.

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
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::{
    sync::Notify,
    time::{Instant, MissedTickBehavior},
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{
    LiveSink, Task, Work,
    observe::{self, Outcome},
    pool::millis,
};
use crate::telemetry;

/// Tasks that take longer than this say who has them.
const SAY_TAKEN_AFTER: Duration = Duration::from_millis(100);
/// When a stop hint is looked into: at once, and again in case it came before the record that says so.
const LOOK_AFTER_HINT: [Duration; 3] =
    [Duration::ZERO, Duration::from_millis(250), Duration::from_secs(1)];
/// Waits between attempts to store a result: from, and to at most.
const STORE_AGAIN: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];
/// Wait before it is tried again to see whether a command is wanted.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// How long a command is left alone whose result nobody could store.
const UNSTORABLE_WAIT: Duration = Duration::from_secs(60);

/// Everything about a command but the command.
#[derive(Clone)]
pub(super) struct Assignment {
    pub(super) broker: Broker,
    pub(super) worker: WorkerId,
    pub(super) work: Arc<dyn Work>,
    pub(super) job: JobId,
    pub(super) seq: Seq,
    pub(super) delivered: u64,
    pub(super) deliveries_max: u64,
    pub(super) trace: Option<TraceContext>,
    pub(super) ack: Arc<dyn Ack>,
    pub(super) heartbeat: Duration,
    pub(super) stop_grace: Duration,
    /// The time to drain is over.
    pub(super) abort: CancellationToken,
    /// A stop hint came.
    pub(super) hint: Arc<Notify>,
    /// What `last_beat` counts from.
    pub(super) started: Instant,
    /// When the task last showed that it is alive, in milliseconds.
    pub(super) last_beat: Arc<AtomicU64>,
}

/// What is to be done with a command.
pub(super) enum Mission {
    /// Carry it out.
    Run(Box<Decision>),
    /// Say that carrying it out broke.
    Report { decision: Box<Decision>, why: String },
}

impl Mission {
    fn decision(&self) -> &Decision {
        match self {
            Self::Run(decision) | Self::Report { decision, .. } => decision,
        }
    }
}

/// What became of a command.
enum End {
    /// It is done; this is to be stored, if anything is.
    Done(Option<Box<Fact>>),
    /// Nobody wants its result.
    Unwanted,
    /// Another worker is to have it.
    GivenUp,
    /// Another worker gets it, or has it already.
    CutOff,
}

/// Why a task must end early.
enum Interrupt {
    Unwanted,
    CutOff,
    Abort,
}

pub(super) struct TaskActor;

impl Actor for TaskActor {
    type Msg = (Assignment, Mission);
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Self::Msg>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        (assignment, mission): Self::Msg,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        let trace = assignment.trace.map_or_else(telemetry::new_trace, telemetry::child_of);
        // Of this level so that lines of any level are within it.
        let span = tracing::error_span!(
            "task",
            work = assignment.work.name(),
            job = %assignment.job,
            seq = %assignment.seq,
            trace_id = %format_args!("{:032x}", trace.trace_id()),
            span_id = %format_args!("{:016x}", trace.span_id()),
        );
        let process = observe::Process::start(&assignment, mission.decision(), trace);
        let carried = Box::pin(carry_out(&assignment, mission, trace)).instrument(span);
        process.end(telemetry::within(trace, carried).await);
        myself.stop(None);
        Ok(())
    }
}

async fn carry_out(at: &Assignment, mission: Mission, trace: TraceContext) -> Outcome {
    let (end, decision, outcome) = match mission {
        Mission::Report { decision, why } => match at.work.broken(&decision, &why) {
            Some(fact) => (End::Done(Some(Box::new(fact))), decision, Outcome::Broken),
            None => {
                at.ack.later(at.heartbeat).await;
                return Outcome::Broken;
            }
        },
        Mission::Run(decision) if at.delivered > at.deliveries_max => {
            match at.work.lost(&decision, at.delivered) {
                Some(fact) => {
                    tracing::error!(delivered = at.delivered, "its workers died; reported lost");
                    (End::Done(Some(Box::new(fact))), decision, Outcome::Lost)
                }
                None => (run(at, &decision, trace).await, decision, Outcome::Done),
            }
        }
        Mission::Run(decision) => (run(at, &decision, trace).await, decision, Outcome::Done),
    };
    match end {
        End::Done(Some(fact)) => {
            if store(at, &decision, &fact, trace).await {
                outcome
            } else {
                Outcome::GivenUp
            }
        }
        End::Done(None) => {
            at.ack.done().await;
            outcome
        }
        End::Unwanted => {
            tracing::info!("the result is not wanted any more");
            at.ack.done().await;
            Outcome::Unwanted
        }
        End::GivenUp => {
            at.ack.later(Duration::ZERO).await;
            Outcome::GivenUp
        }
        // The broker may have handed it out again: a word about this delivery would have it handed
        // out once more, beside whoever has it. It does so by itself when it hears nothing.
        End::CutOff => Outcome::GivenUp,
    }
}

/// Runs the work beside the guard that keeps its command alive; whichever ends first decides.
async fn run(at: &Assignment, decision: &Decision, trace: TraceContext) -> End {
    let canceled = CancellationToken::new();
    let subject = at.broker.log.subjects().live(&at.job);
    let live = LiveSink::new(Arc::clone(&at.broker.bus), subject, decision);
    let task = Task {
        job: at.job.clone(),
        seq: at.seq,
        decision: decision.clone(),
        delivered: at.delivered,
        trace,
        live: live.clone(),
        canceled: canceled.clone(),
    };
    let mut work = Box::pin(async {
        if at.may_be_late(decision) {
            let wanted = tokio::select! {
                biased;
                () = canceled.cancelled() => return End::Done(None),
                wanted = at.is_wanted(decision) => wanted,
            };
            if !wanted {
                return End::Unwanted;
            }
        }
        End::Done(at.work.run(task).await.map(Box::new))
    });
    let interrupt = tokio::select! {
        biased;
        end = &mut work => return end,
        interrupt = at.guard(decision, &live) => interrupt,
    };
    canceled.cancel();
    match interrupt {
        Interrupt::Unwanted => at.let_clean_up(work).await.map_or(End::Unwanted, |_| End::Unwanted),
        Interrupt::CutOff => {
            tracing::warn!("cut off from the broker; stopped before another worker gets it");
            let _ = at.let_clean_up(work).await;
            End::CutOff
        }
        Interrupt::Abort => End::GivenUp,
    }
}

impl Assignment {
    /// Notes that the task is alive.
    pub(super) fn beat(&self) {
        self.last_beat.store(millis(self.started.elapsed()), Ordering::Relaxed);
    }

    /// Whether the job may have ended, or the command been answered, before it came here. A command
    /// that is handed out again was somebody's before; one whose effect cannot be taken back may have
    /// waited in the queue while its job was canceled. For the others it is not worth a look.
    fn may_be_late(&self, decision: &Decision) -> bool {
        self.delivered > 1 || self.work.stops_when_cut_off(decision)
    }

    /// Whether a command is wanted when its turn comes: the log is asked until it says so.
    async fn is_wanted(&self, decision: &Decision) -> bool {
        let mut wanted = Cancellation::new(self.seq, decision);
        loop {
            match self.verdict(&mut wanted).await {
                Ok(verdict) => return verdict == Verdict::Wanted,
                Err(error) => {
                    tracing::warn!(%error, "the job's log could not be looked at; trying again");
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
            }
        }
    }

    /// Keeps the command alive until something says that the task must end.
    async fn guard(&self, decision: &Decision, live: &LiveSink) -> Interrupt {
        let taken = async {
            tokio::time::sleep(SAY_TAKEN_AFTER).await;
            live.say(Said::Taken { worker: self.worker.clone() }).await;
            std::future::pending().await
        };
        tokio::select! {
            biased;
            () = self.abort.cancelled() => Interrupt::Abort,
            interrupt = self.watch(decision) => interrupt,
            never = taken => never,
        }
    }

    /// Heartbeats, and a look at the log with each of them and with every hint.
    async fn watch(&self, decision: &Decision) -> Interrupt {
        let stops_when_cut_off = self.work.stops_when_cut_off(decision);
        let mut wanted = Cancellation::new(self.seq, decision);
        let log = &*self.broker.log;
        // What the broker has certainly heard of us; the command can go to another worker one
        // acknowledgement wait after it. Cleaning up needs time before that.
        let mut heard = Instant::now();
        let lease = log.ack_wait().saturating_sub(self.stop_grace.min(log.ack_wait() / 3));
        let mut beats = tokio::time::interval_at(heard + self.heartbeat, self.heartbeat);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let hinted = tokio::select! {
                biased;
                () = tokio::time::sleep_until(heard + lease), if stops_when_cut_off => {
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
                () = tokio::time::sleep_until(heard + lease), if stops_when_cut_off => {
                    return Interrupt::CutOff;
                }
            };
            match looked {
                Ok(true) => return Interrupt::Unwanted,
                // The answer came after the heartbeat was sent, on the same connection.
                Ok(false) => heard = sent,
                Err(error) => tracing::debug!(%error, "the job's log could not be looked at"),
            }
        }
    }

    /// Reads the records since the last look.
    async fn verdict(&self, wanted: &mut Cancellation) -> Result<Verdict, LogError> {
        let entries = self.broker.log.read(&self.job, wanted.seen()).await?;
        Ok(wanted.take(&entries))
    }

    /// Whether the result is unwanted. A hint alone is not believed, and one that is ahead of the
    /// log is checked again.
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

    /// Waits a bounded time for a canceled task to return.
    async fn let_clean_up(
        &self,
        work: impl Future<Output = End>,
    ) -> Result<(), tokio::time::error::Elapsed> {
        let cleaned = tokio::time::timeout(self.stop_grace, self.kept_alive(work)).await;
        if cleaned.is_err() {
            tracing::warn!("a canceled task did not return; dropped");
        }
        cleaned.map(|_| ())
    }

    /// Waits for something while the command is kept alive.
    async fn kept_alive<T>(&self, something: impl Future<Output = T>) -> T {
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
}

/// Stores the fact, however long that takes, and acknowledges the command. Whether that could be
/// done.
async fn store(at: &Assignment, decision: &Decision, fact: &Fact, trace: TraceContext) -> bool {
    let stored = tokio::select! {
        biased;
        stored = at.kept_alive(append(at, fact, trace)) => stored,
        () = at.abort.cancelled() => {
            at.ack.later(Duration::ZERO).await;
            return false;
        }
    };
    let Err(error) = stored else {
        at.ack.done().await;
        return true;
    };
    tracing::error!(%error, "a result could not be stored");
    observe::dead_letter("unstorable");
    let why = format!("the result could not be stored: {error}");
    let Some(substitute) = at.work.broken(decision, &why) else {
        at.ack.later(UNSTORABLE_WAIT).await;
        return false;
    };
    match at.kept_alive(append(at, &substitute, trace)).await {
        Ok(()) => {
            at.ack.done().await;
            true
        }
        Err(error) => {
            tracing::error!(%error, "not even the fault could be stored; trying again later");
            at.ack.later(UNSTORABLE_WAIT).await;
            false
        }
    }
}

/// Appends until it is known to be stored, or cannot be.
async fn append(at: &Assignment, fact: &Fact, trace: TraceContext) -> Result<(), LogError> {
    let [mut wait, longest] = STORE_AGAIN;
    loop {
        match at.broker.log.append(&at.job, fact, trace).await {
            Ok(_) => return Ok(()),
            Err(error) if error.is_transient() => {
                tracing::warn!(%error, "a result could not be stored; trying again");
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(longest);
            }
            Err(error) => return Err(error),
        }
    }
}
