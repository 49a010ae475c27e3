//! The actor of one pool: takes commands, gives each to a child of its own, and looks after what
//! the children cannot: panics, stop hints, draining.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use broker::log::{Ack, Delivery, LogError};
use proto::{
    decision::Decision,
    id::{JobId, Seq},
    record::{Known, Record, Unreadable},
};
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{
    PoolArgs, feed,
    gauge::Counted,
    task::{Assignment, Mission, TaskActor},
};
use crate::actor::kill_children;

/// How long a command that cannot be read is left alone. The supervisor parks its job meanwhile.
const UNREADABLE_WAIT: Duration = Duration::from_secs(60);
/// What a drained pool waits for tasks that block their thread before it goes without them.
const DRAIN_MARGIN: Duration = Duration::from_secs(2);

/// The actor of one pool. It stops by itself, without an error, when it has drained; it fails when
/// commands cannot be taken for a reason that does not pass.
#[derive(Debug)]
pub struct PoolActor;

/// What a pool is told. Sent by its own tasks.
#[derive(Debug)]
pub enum PoolMsg {
    /// A command was taken from the queue.
    Taken(Box<Delivery>),
    /// Work of this job may not be wanted any more.
    Stopped(JobId),
    /// Take nothing new.
    Drain,
    /// Everything that had been taken before draining began has been seen.
    Settled,
    /// The time to drain is over.
    Abort,
    /// Tasks that do not even react to the end of the time to drain are left behind.
    LeaveBehind,
    /// Look for tasks that block.
    Inspect,
    /// Commands cannot be taken, for a reason that does not pass.
    Broken(LogError),
}

/// A pool's memory.
pub struct PoolState {
    args: PoolArgs,
    heartbeat: Duration,
    /// In the order in which they were taken, so that all that is told to several is told in one order.
    in_hand: BTreeMap<ActorId, InHand>,
    closing: CancellationToken,
    abort: CancellationToken,
    started: Instant,
    /// Whether everything that was taken before draining began has been seen.
    settled: bool,
    feed: Option<AbortOnDropHandle<()>>,
    _tasks: [AbortOnDropHandle<()>; 2],
}

impl std::fmt::Debug for PoolState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PoolState").field("in_hand", &self.in_hand.len()).finish_non_exhaustive()
    }
}

/// A command in the hands of a child. The record stays here, so that a panic can be reported.
struct InHand {
    delivery: Held,
    hint: Arc<Notify>,
    reporting: bool,
    last_beat: Arc<AtomicU64>,
    /// Since when it has been seen to miss heartbeats, in milliseconds of the pool's life.
    late_since: Option<u64>,
    stalled: bool,
}

struct Held {
    job: JobId,
    record: Record,
    basis: Assignment,
    _slot: Option<OwnedSemaphorePermit>,
    _counted: Counted,
}

impl Actor for PoolActor {
    type Msg = PoolMsg;
    type State = PoolState;
    type Arguments = PoolArgs;

    async fn pre_start(
        &self,
        myself: ActorRef<PoolMsg>,
        args: PoolArgs,
    ) -> Result<PoolState, ActorProcessingErr> {
        let heartbeat = args.options.heartbeat.unwrap_or(args.broker.log.ack_wait() / 3);
        let closing = CancellationToken::new();
        let slots = Arc::new(Semaphore::new(args.options.slots));
        let take = feed::commands(
            args.broker.clone(),
            args.options.clone(),
            args.gauge.clone(),
            slots,
            myself.clone(),
            closing.clone(),
        );
        let stops = feed::stops(args.broker.clone(), myself.clone());
        let (shutdown, me) = (args.shutdown.clone(), myself.clone());
        let drain = async move {
            shutdown.cancelled().await;
            let _ = me.cast(PoolMsg::Drain);
        };
        myself.send_interval(heartbeat, || PoolMsg::Inspect);
        Ok(PoolState {
            heartbeat,
            in_hand: BTreeMap::new(),
            closing,
            abort: CancellationToken::new(),
            started: Instant::now(),
            settled: false,
            feed: Some(AbortOnDropHandle::new(tokio::spawn(take))),
            _tasks: [
                AbortOnDropHandle::new(tokio::spawn(stops)),
                AbortOnDropHandle::new(tokio::spawn(drain)),
            ],
            args,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<PoolMsg>,
        message: PoolMsg,
        state: &mut PoolState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            PoolMsg::Taken(delivery) => state.take(*delivery, &myself).await,
            PoolMsg::Stopped(job) => state.hint(&job),
            PoolMsg::Drain => state.drain(&myself).await,
            PoolMsg::Settled => {
                state.settled = true;
                state.stop_when_empty(&myself);
            }
            PoolMsg::Abort => {
                if !state.in_hand.is_empty() {
                    tracing::warn!(
                        left = state.in_hand.len(),
                        pool = %state.args.options.pool,
                        "the time to drain is over; what is left goes to other workers"
                    );
                }
                state.abort.cancel();
                myself.send_after(DRAIN_MARGIN, || PoolMsg::LeaveBehind);
            }
            PoolMsg::LeaveBehind => {
                kill_children(&myself.get_cell());
                myself.stop(Some("tasks were left behind".to_owned()));
            }
            PoolMsg::Inspect => state.inspect(),
            PoolMsg::Broken(why) => {
                kill_children(&myself.get_cell());
                return Err(why.into());
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<PoolMsg>,
        event: SupervisionEvent,
        state: &mut PoolState,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorTerminated(child, _, _) => {
                state.in_hand.remove(&child.get_id());
            }
            SupervisionEvent::ActorFailed(child, why) => {
                state.report(&child, &why.to_string(), &myself).await;
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        state.stop_when_empty(&myself);
        Ok(())
    }
}

impl PoolState {
    async fn take(&mut self, delivery: Delivery, myself: &ActorRef<PoolMsg>) {
        let Delivery { entry, delivered, ack, slot } = delivery;
        if self.closing.is_cancelled() {
            return ack.later(Duration::ZERO).await;
        }
        let record = match entry.record {
            Ok(record) => record,
            Err(error) => return put_off((&entry.job, entry.seq), delivered, error, &*ack).await,
        };
        let decision = match command(&record) {
            Ok(decision) => decision,
            Err(error) => return put_off((&entry.job, entry.seq), delivered, error, &*ack).await,
        };
        if self.has(&entry.job, entry.seq) {
            // The broker had not heard of it for too long, because this process stood still. Whoever
            // has it in hand acknowledges it, and to begin it beside itself would help nobody.
            tracing::debug!(job = %entry.job, seq = %entry.seq, delivered, "is in hand already");
            return;
        }
        let args = &self.args;
        let basis = Assignment {
            broker: args.broker.clone(),
            worker: args.worker.clone(),
            work: Arc::clone(&args.work),
            job: entry.job.clone(),
            seq: entry.seq,
            delivered,
            deliveries_max: args.options.deliveries_max,
            trace: entry.trace,
            ack: Arc::from(ack),
            heartbeat: self.heartbeat,
            stop_grace: args.options.stop_grace,
            abort: self.abort.clone(),
            hint: Arc::default(),
            started: self.started,
            last_beat: Arc::default(),
        };
        let held =
            Held { job: entry.job, record, basis, _slot: slot, _counted: args.gauge.count() };
        self.start(held, Mission::Run(Box::new(decision)), myself).await;
    }

    /// Whether a command is in hand. One that has stalled does not count: it may never end.
    fn has(&self, job: &JobId, seq: Seq) -> bool {
        let is_it = |held: &Held| held.job == *job && held.basis.seq == seq;
        self.in_hand.values().any(|in_hand| !in_hand.stalled && is_it(&in_hand.delivery))
    }

    /// Gives a command to a child of its own.
    async fn start(&mut self, held: Held, mission: Mission, myself: &ActorRef<PoolMsg>) {
        let reporting = matches!(mission, Mission::Report { .. });
        let assignment = held.basis.clone();
        assignment.beat();
        let spawned = Actor::spawn_linked(None, TaskActor, (), myself.get_cell()).await;
        let (child, _) = match spawned {
            Ok(spawned) => spawned,
            Err(error) => {
                tracing::error!(job = %held.job, %error, "a task could not be started");
                return held.basis.ack.later(Duration::from_secs(1)).await;
            }
        };
        let in_hand = InHand {
            hint: Arc::clone(&assignment.hint),
            last_beat: Arc::clone(&assignment.last_beat),
            delivery: held,
            reporting,
            late_since: None,
            stalled: false,
        };
        self.in_hand.insert(child.get_id(), in_hand);
        // A child that is already dead has sent its own end, which clears the entry.
        let _ = child.cast((assignment, mission));
    }

    /// A child panicked: another one says so in the job's log, and then acknowledges.
    async fn report(&mut self, child: &ActorCell, why: &str, myself: &ActorRef<PoolMsg>) {
        let Some(InHand { delivery: held, reporting, .. }) = self.in_hand.remove(&child.get_id())
        else {
            return;
        };
        let work = self.args.work.name();
        let (job, seq) = (&held.job, held.basis.seq);
        // What a panic says may hold what users wrote. Where it was, a line of its own says.
        tracing::error!(%job, %seq, work, "a task broke");
        tracing::debug!(%job, %seq, work, why, "what a task broke with");
        match command(&held.record) {
            Ok(decision) if !reporting => {
                let why = format!("the {work} broke: {why}");
                let mission = Mission::Report { decision: Box::new(decision), why };
                self.start(held, mission, myself).await;
            }
            Ok(_) | Err(_) => held.basis.ack.later(UNREADABLE_WAIT).await,
        }
    }

    fn hint(&self, job: &JobId) {
        for in_hand in self.in_hand.values().filter(|i| &i.delivery.job == job) {
            in_hand.hint.notify_one();
        }
    }

    /// Closes the queue. What is in the mailbox already is still seen, and given back.
    async fn drain(&mut self, myself: &ActorRef<PoolMsg>) {
        self.closing.cancel();
        if let Some(feed) = self.feed.take() {
            // It ends at once, and so does what it could still put into the mailbox.
            let _ = feed.await;
        }
        let _ = myself.cast(PoolMsg::Settled);
        myself.send_after(self.args.options.drain, || PoolMsg::Abort);
    }

    fn stop_when_empty(&self, myself: &ActorRef<PoolMsg>) {
        if self.settled && self.in_hand.is_empty() {
            myself.stop(None);
        }
    }

    /// Says of each task that it blocks its thread: it misses its heartbeats, and its command will be
    /// handed to another worker. A process that stood still finds all its tasks late when it goes on;
    /// so none is given up before it had time for a heartbeat.
    fn inspect(&mut self) {
        let now = millis(self.started.elapsed());
        let beat = millis(self.heartbeat);
        for in_hand in self.in_hand.values_mut() {
            let silent_ms = now.saturating_sub(in_hand.last_beat.load(Ordering::Relaxed));
            if silent_ms <= beat.saturating_mul(2) {
                (in_hand.late_since, in_hand.stalled) = (None, false);
                continue;
            }
            let since = *in_hand.late_since.get_or_insert(now);
            if !in_hand.stalled && now.saturating_sub(since) > beat / 2 {
                in_hand.stalled = true;
                let (job, seq) = (&in_hand.delivery.job, in_hand.delivery.basis.seq);
                tracing::error!(%job, %seq, silent_ms, "a task has stalled: it misses its heartbeats");
            }
        }
    }
}

/// Milliseconds that fit a counter.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Why a record is no command.
#[derive(Debug, thiserror::Error)]
enum NoCommand {
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error("a {0} where a decision belongs")]
    Fact(&'static str),
}

impl NoCommand {
    /// What is wrong and where, without a word of what is written there.
    fn place(&self) -> String {
        match self {
            Self::Unreadable(unreadable) => unreadable.place(),
            Self::Fact(_) => self.to_string(),
        }
    }
}

/// The decision in a record.
fn command(record: &Record) -> Result<Decision, NoCommand> {
    match record.known()? {
        Known::Decision(decision) => Ok(*decision),
        Known::Fact(fact) => Err(NoCommand::Fact(fact.kind())),
    }
}

/// Leaves a command that cannot be read for later. Nothing else can be done with it here: the
/// supervisor cannot read it either, and parks the job with the record named. It is counted when it
/// is handed out first, for it comes again and again.
async fn put_off(
    (job, seq): (&JobId, Seq),
    delivered: u64,
    error: impl Into<NoCommand>,
    ack: &dyn Ack,
) {
    let error = error.into();
    tracing::error!(%job, %seq, error = error.place(), "a command cannot be read");
    tracing::debug!(%job, %seq, %error, "what of the command cannot be read");
    if delivered == 1 {
        super::dead_letter("unreadable");
    }
    ack.later(UNREADABLE_WAIT).await;
}
