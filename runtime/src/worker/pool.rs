//! The actor of one pool. It takes commands, parses each for its role and gives each to an actor of
//! that role. It handles panics, stop hints and draining, which those actors cannot.

use std::{
    collections::BTreeMap,
    marker::PhantomData,
    sync::{Arc, atomic::Ordering},
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
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{
    Assignment, Command, PoolArgs, Role, assignment::Mission, feed, gauge::Counted, lease::Lease,
};
use crate::actor::kill_children;

/// Wait before the redelivery of an unreadable command. The supervisor parks its job meanwhile.
const UNREADABLE_WAIT: Duration = Duration::from_secs(60);
/// Time that a drained pool gives to tasks that block their thread before it stops without them.
const DRAIN_MARGIN: Duration = Duration::from_secs(2);

/// The actor of one pool, which supervises one actor of the role for each held command. It stops by
/// itself, without an error, when it has drained. It fails when commands cannot be taken for a
/// permanent reason.
#[derive(derive_more::Debug)]
#[debug("PoolActor")]
pub struct PoolActor<R>(PhantomData<fn() -> R>);

impl<R> Default for PoolActor<R> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

/// A message to a pool, from its own tasks.
#[derive(Debug)]
pub enum PoolMsg {
    /// A command was taken from the queue.
    Taken(Box<Delivery>),
    /// The job may no longer need the results of its commands.
    Stopped(JobId),
    /// Take no further commands.
    Drain,
    /// The pool has handled every command that was queued before draining began.
    Settled,
    /// The drain deadline has passed.
    Abort,
    /// Tasks that did not react to the abort are killed.
    LeaveBehind,
    /// Check for tasks that block their thread.
    Inspect,
    /// Commands cannot be taken, for a permanent reason.
    Broken(LogError),
}

/// The state of a pool.
#[derive(derive_more::Debug)]
#[debug("PoolState {{ in_hand: {} }}", in_hand.len())]
pub struct PoolState<R: Role> {
    args: PoolArgs<R>,
    heartbeat: Duration,
    /// Ordered by actor id, so in the order of taking. A hint reaches several tasks in that order.
    in_hand: BTreeMap<ActorId, InHand<R::Command>>,
    closing: CancellationToken,
    abort: CancellationToken,
    started: Instant,
    /// `true` after every command that was queued before draining began has been handled.
    settled: bool,
    feed: Option<AbortOnDropHandle<()>>,
    _tasks: [AbortOnDropHandle<()>; 2],
}

/// A held command and the actor that carries it out.
struct InHand<C> {
    held: HeldCommand<C>,
    reporting: bool,
    /// Since when the task misses heartbeats, in milliseconds since the pool's start.
    late_since: Option<u64>,
    stalled: bool,
}

/// A command, kept outside its actor so that a panic of the actor can be reported.
struct HeldCommand<C> {
    lease: Lease,
    command: Arc<C>,
    _slot: Option<OwnedSemaphorePermit>,
    _counted: Counted,
}

impl<R: Role> Actor for PoolActor<R> {
    type Msg = PoolMsg;
    type State = PoolState<R>;
    type Arguments = PoolArgs<R>;

    async fn pre_start(
        &self,
        myself: ActorRef<PoolMsg>,
        args: PoolArgs<R>,
    ) -> Result<PoolState<R>, ActorProcessingErr> {
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
        state: &mut PoolState<R>,
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
                        "the drain time is over; other workers receive the remaining commands"
                    );
                }
                state.abort.cancel();
                myself.send_after(DRAIN_MARGIN, || PoolMsg::LeaveBehind);
            }
            PoolMsg::LeaveBehind => {
                kill_children(&myself.get_cell());
                myself.stop(Some("tasks were not finished".to_owned()));
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
        state: &mut PoolState<R>,
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

impl<R: Role> PoolState<R> {
    async fn take(&mut self, delivery: Delivery, myself: &ActorRef<PoolMsg>) {
        let Delivery { entry, delivered, ack, slot } = delivery;
        if self.closing.is_cancelled() {
            return ack.later(Duration::ZERO).await;
        }
        let (job, seq) = (entry.job, entry.seq);
        let decision = match entry.record.map_err(NoCommand::from).and_then(|r| decision(&r)) {
            Ok(decision) => decision,
            Err(error) => return put_off((&job, seq), delivered, error, &*ack).await,
        };
        let Some(command) = R::Command::parse(&decision) else {
            let kind = decision.kind().as_str();
            tracing::error!(%job, %seq, role = R::NAME, kind, "a command for another role; ignored");
            return ack.done().await;
        };
        if self.has(&job, seq) {
            // This process was suspended, and the broker heard no heartbeat for too long. The
            // running task acknowledges the command; a second run beside it would be useless.
            tracing::debug!(%job, %seq, delivered, "the command is already in progress");
            return;
        }
        let args = &self.args;
        let lease = Lease {
            broker: args.broker.clone(),
            worker: args.worker.clone(),
            role: R::NAME,
            job,
            seq,
            decision: Arc::new(decision),
            stops_when_cut_off: command.stops_when_cut_off(),
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
            paces: args.paces.clone(),
        };
        let (command, counted) = (Arc::new(command), args.gauge.count());
        let held = HeldCommand { lease, command, _slot: slot, _counted: counted };
        self.start(held, Mission::Run, myself).await;
    }

    /// Returns whether the pool holds a command. A stalled command does not count, because its task
    /// may never end.
    fn has(&self, job: &JobId, seq: Seq) -> bool {
        let is_it = |lease: &Lease| lease.job == *job && lease.seq == seq;
        self.in_hand.values().any(|in_hand| !in_hand.stalled && is_it(&in_hand.held.lease))
    }

    /// Gives a command to an actor of the role.
    async fn start(
        &mut self,
        held: HeldCommand<R::Command>,
        mission: Mission,
        me: &ActorRef<PoolMsg>,
    ) {
        let reporting = matches!(mission, Mission::Report(_));
        let (lease, command) = (held.lease.clone(), Arc::clone(&held.command));
        lease.beat();
        let spawned = Actor::spawn_linked(None, self.args.role.clone(), (), me.get_cell()).await;
        let (child, _) = match spawned {
            Ok(spawned) => spawned,
            Err(error) => {
                tracing::error!(job = %lease.job, %error, "a task could not be started");
                return lease.ack.later(Duration::from_secs(1)).await;
            }
        };
        let in_hand = InHand { held, reporting, late_since: None, stalled: false };
        self.in_hand.insert(child.get_id(), in_hand);
        // A child that is already dead has sent its own end, which clears the entry.
        let _ = child.cast(Assignment { lease, command, mission });
    }

    /// Starts another actor that reports the panic of `child` in the job's log and then
    /// acknowledges the command.
    async fn report(&mut self, child: &ActorCell, why: &str, myself: &ActorRef<PoolMsg>) {
        let Some(InHand { held, reporting, .. }) = self.in_hand.remove(&child.get_id()) else {
            return;
        };
        let (job, seq, work) = (&held.lease.job, held.lease.seq, R::NAME);
        // A panic's message may contain users' content. The panic hook logs the place on a line of
        // its own.
        tracing::error!(%job, %seq, work, "a task panicked");
        tracing::debug!(%job, %seq, work, why, "the message of the panic of a task");
        if reporting {
            return held.lease.ack.later(UNREADABLE_WAIT).await;
        }
        let why = format!("the {work} panicked: {why}");
        self.start(held, Mission::Report(why), myself).await;
    }

    fn hint(&self, job: &JobId) {
        let leases = self.in_hand.values().map(|in_hand| &in_hand.held.lease);
        leases.filter(|lease| lease.job == *job).for_each(|lease| lease.hint.notify_one());
    }

    /// Closes the queue. Commands that are already in the mailbox are handled, and given back.
    async fn drain(&mut self, myself: &ActorRef<PoolMsg>) {
        self.closing.cancel();
        if let Some(feed) = self.feed.take() {
            // The feed ends at once, and puts nothing into the mailbox afterwards.
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

    /// Reports each task that blocks its thread: the task misses its heartbeats, and its command
    /// will be delivered to another worker. After a suspension of the process all tasks are late,
    /// so each has time for one heartbeat before it counts as stalled.
    fn inspect(&mut self) {
        let now = millis(self.started.elapsed());
        let beat = millis(self.heartbeat);
        for in_hand in self.in_hand.values_mut() {
            let lease = &in_hand.held.lease;
            let silent_ms = now.saturating_sub(lease.last_beat.load(Ordering::Relaxed));
            if silent_ms <= beat.saturating_mul(2) {
                (in_hand.late_since, in_hand.stalled) = (None, false);
                continue;
            }
            let since = *in_hand.late_since.get_or_insert(now);
            if !in_hand.stalled && now.saturating_sub(since) > beat / 2 {
                in_hand.stalled = true;
                let (job, seq) = (&lease.job, lease.seq);
                tracing::error!(%job, %seq, silent_ms, "a task has stalled: it misses its heartbeats");
            }
        }
    }
}

/// Returns the duration in whole milliseconds, saturating at `u64::MAX`.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The reason why a record is no command.
#[derive(Debug, thiserror::Error)]
enum NoCommand {
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error("a {0} in the place of a decision")]
    Fact(&'static str),
}

impl NoCommand {
    /// Returns the error and its place, without the content of the record.
    fn place(&self) -> String {
        match self {
            Self::Unreadable(unreadable) => unreadable.place(),
            Self::Fact(_) => self.to_string(),
        }
    }
}

/// The decision in a record.
fn decision(record: &Record) -> Result<Decision, NoCommand> {
    match record.known()? {
        Known::Decision(decision) => Ok(*decision),
        Known::Fact(fact) => Err(NoCommand::Fact(fact.kind())),
    }
}

/// Returns an unreadable command to the queue. The supervisor cannot read the command either, and
/// parks the job with the record named. Only the first delivery is counted, because every
/// redelivery fails alike.
async fn put_off((job, seq): (&JobId, Seq), delivered: u64, error: NoCommand, ack: &dyn Ack) {
    tracing::error!(%job, %seq, error = error.place(), "a command cannot be read");
    tracing::debug!(%job, %seq, %error, "the part of the command that cannot be read");
    if delivered == 1 {
        super::dead_letter("unreadable");
    }
    ack.later(UNREADABLE_WAIT).await;
}
