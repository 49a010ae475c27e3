//! The server side: the requests to one host.
//!
//! Every request is a task. Two tasks never open or close the session of one job at the same time.

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use broker::{
    Broker,
    bus::{Answer, BusError, Direct},
    kv::KvError,
};
use bytes::Bytes;
use futures::{FutureExt, StreamExt, stream::BoxStream};
use proto::{
    excerpt::excerpt,
    id::{JobId, Unit, WorkerId},
    session::SessionId,
    wire::{
        self, Wire,
        host::{Carry, CarryAnswer, Heard, HostRequest, Offer, OpenAnswer},
    },
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::{
    sync::Semaphore,
    time::{MissedTickBehavior, interval},
};
use tokio_util::{
    sync::CancellationToken,
    task::{AbortOnDropHandle, TaskTracker},
};

use super::{
    ALIVE_EVERY, Keeper, OpenError, SILENCE,
    entries::Entries,
    slot::{Gate, Slot, Start},
};
use crate::actor::Child;

/// Time that running work has after the shutdown begins.
const DRAIN: Duration = Duration::from_secs(8);
/// Longest time in which a session opens.
const OPENING: Duration = Duration::from_secs(60);
/// Longest time in which a session closes, and at the end all of them together.
const CLOSING: Duration = Duration::from_secs(10);
/// Interval at which a host closes idle sessions and removes the entries of dead hosts.
const SWEEP: Duration = Duration::from_secs(60);

/// The bounds of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostLimits {
    /// Maximum number of sessions.
    pub sessions: usize,
    /// Maximum number of units of work that run at the same time, in all sessions.
    pub in_flight: usize,
    /// Time without work after which a session is closed.
    pub idle: Duration,
}

/// The arguments of [`child`].
#[derive(Clone, derive_more::Debug)]
#[debug("HostArgs {{ host: {host}, kind: {}, limits: {limits:?} }}", keeper.kind())]
pub struct HostArgs {
    /// The broker that delivers the requests and has the bucket.
    pub broker: Broker,
    /// The name of this process.
    pub host: WorkerId,
    /// The keeper of the sessions.
    pub keeper: Arc<dyn Keeper>,
    /// The bounds.
    pub limits: HostLimits,
    /// Begins the shutdown when canceled.
    pub shutdown: CancellationToken,
}

/// Returns a child of an actor tree that makes this process a host of the keeper's sessions. After
/// `shutdown` it takes no new request, lets running work end, closes all sessions and stops.
#[must_use]
pub fn child(args: HostArgs) -> Child {
    let name = format!("host.{}", args.keeper.kind());
    Child::actor(name, || HostActor, Arc::new(Host::new(args)))
}

struct HostActor;

enum HostMsg {
    /// The shutdown is complete.
    Finished,
    /// The stream of requests ended without a shutdown.
    Ended,
}

impl Actor for HostActor {
    type Msg = HostMsg;
    type State = AbortOnDropHandle<()>;
    /// Sessions survive a restart of the actor.
    type Arguments = Arc<Host>;

    async fn pre_start(
        &self,
        myself: ActorRef<HostMsg>,
        host: Arc<Host>,
    ) -> Result<Self::State, ActorProcessingErr> {
        let HostArgs { broker, host: name, keeper, .. } = &host.args;
        let subjects = broker.log.subjects();
        let of_all = broker.bus.listen(subjects.hosts(keeper.kind())).await?;
        let own = broker.bus.listen(subjects.host(keeper.kind(), name)).await?;
        let requests = futures::stream::select(own, of_all).boxed();
        let task = tokio::spawn(async move {
            let _ = myself.cast(host.listen(requests).await);
        });
        Ok(AbortOnDropHandle::new(task))
    }

    async fn handle(
        &self,
        myself: ActorRef<HostMsg>,
        message: HostMsg,
        _: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            HostMsg::Finished => myself.stop(None),
            HostMsg::Ended => return Err("the request stream of the bus ended".into()),
        }
        Ok(())
    }
}

/// A host with its sessions.
struct Host {
    args: HostArgs,
    entries: Entries,
    slots: Mutex<HashMap<JobId, Arc<Slot>>>,
    places: Arc<Semaphore>,
    tracker: TaskTracker,
}

impl Host {
    fn new(args: HostArgs) -> Self {
        let places = Arc::new(Semaphore::new(args.limits.in_flight));
        let HostArgs { broker, host, keeper, .. } = &args;
        let entries = Entries::new(broker.clone(), host.clone(), keeper.kind());
        Self { args, entries, slots: Mutex::default(), places, tracker: TaskTracker::new() }
    }

    async fn listen(self: Arc<Self>, mut requests: BoxStream<'static, Direct>) -> HostMsg {
        let mut sweep = interval(SWEEP);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = self.args.shutdown.cancelled() => break,
                request = requests.next() => match request {
                    Some(request) => self.take(request),
                    None => return HostMsg::Ended,
                },
                _ = sweep.tick() => {
                    let host = Arc::clone(&self);
                    self.tracker.spawn(async move { host.sweep().await });
                }
            }
        }
        // Nothing is opened or begun during the shutdown, so these requests are refused.
        while let Some(Some(request)) = requests.next().now_or_never() {
            self.take(request);
        }
        drop(requests);
        self.finish().await;
        HostMsg::Finished
    }

    fn is_closing(&self) -> bool {
        self.args.shutdown.is_cancelled()
    }

    fn take(self: &Arc<Self>, request: Direct) {
        let Direct { payload, answer } = request;
        match wire::decode::<HostRequest>(&payload) {
            Ok(request) => {
                let host = Arc::clone(self);
                self.tracker.spawn(async move { host.answer(request, answer.as_ref()).await });
            }
            Err(error) => tracing::debug!(%error, "a request to a host cannot be read"),
        }
    }

    async fn answer(self: Arc<Self>, request: HostRequest, to: &dyn Answer) {
        match request {
            HostRequest::Seek => {
                let has_room = !self.is_closing() && self.slots().len() < self.args.limits.sessions;
                say(to, &Offer { host: self.args.host.clone(), has_room }).await;
            }
            HostRequest::Open { job } => {
                let opened = alive(to, &OpenAnswer::Working, self.open(&job)).await;
                say(to, &opened).await;
            }
            HostRequest::Carry(carry) => {
                let (job, session) = (carry.job.clone(), carry.session);
                let answer = alive(to, &CarryAnswer::Working, self.carry(carry, to)).await;
                // The broker may accept less than the bound of a body.
                if let Err(BusError::TooLarge(bytes)) = try_say(to, &answer).await {
                    let why = format!("the broker takes no result of {bytes} bytes");
                    say(to, &CarryAnswer::Refused { why }).await;
                }
                if let CarryAnswer::Lost { .. } = answer {
                    self.end(&job, Some(session), None).await;
                }
            }
            HostRequest::Cancel { job, work, attempt } => {
                // Work that waits for the session to open has begun when this request enters.
                let entered = self.enter(|host| host.slots().get(&job).cloned()).await;
                let running = entered.and_then(|(slot, _)| slot.running(&Unit { work, attempt }));
                let is_known = running.map(|running| running.cancel()).is_some();
                say(to, &Heard { is_known }).await;
            }
            HostRequest::Close { job, session } => {
                let is_known = self.end(&job, Some(session), None).await;
                say(to, &Heard { is_known }).await;
            }
        }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<JobId, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters the slot of a job. Another task may remove a slot while this one waits for it.
    async fn enter(&self, find: impl Fn(&Self) -> Option<Arc<Slot>>) -> Option<(Arc<Slot>, Gate)> {
        loop {
            let slot = find(self)?;
            let gate = slot.enter().await;
            if self.slots().values().any(|one| Arc::ptr_eq(one, &slot)) {
                return Some((slot, gate));
            }
        }
    }

    /// Returns the slot of a job, or a new one if there is room.
    fn find_or_make(&self, job: &JobId) -> Option<Arc<Slot>> {
        let mut slots = self.slots();
        if let Some(slot) = slots.get(job) {
            return Some(Arc::clone(slot));
        }
        let has_room = slots.len() < self.args.limits.sessions;
        let slot = has_room.then(|| Arc::new(Slot::new()))?;
        slots.insert(job.clone(), Arc::clone(&slot));
        Some(slot)
    }

    async fn open(&self, job: &JobId) -> OpenAnswer {
        let Some((slot, mut gate)) = self.enter(|host| host.find_or_make(job)).await else {
            return OpenAnswer::Full;
        };
        let opened = self.open_in(job, &slot, &mut gate).await;
        if gate.is_none() {
            self.slots().remove(job);
        }
        opened
    }

    async fn open_in(&self, job: &JobId, slot: &Slot, gate: &mut Gate) -> OpenAnswer {
        if self.is_closing() {
            return OpenAnswer::Full;
        }
        let keeper = &self.args.keeper;
        let session = match self.entries.claim(job).await {
            Ok(session) => session,
            Err(KvError::Conflict(_)) => return OpenAnswer::Taken,
            Err(error) => return failed(&error.to_string()),
        };
        // An asker that heard nothing of this host has dropped the entry of the old session, so
        // requests no longer reach it.
        if gate.take().is_some() {
            slot.stop().await;
            self.close(job).await;
        }
        let opening = AssertUnwindSafe(keeper.open(job)).catch_unwind();
        match tokio::time::timeout(OPENING, opening).await {
            Ok(Ok(Ok(()))) => {
                **gate = Some(session);
                tracing::debug!(%job, kind = %keeper.kind(), "a session is open");
                OpenAnswer::Opened { session }
            }
            refused => {
                self.entries.release(job, session).await;
                match refused {
                    Ok(Ok(Err(OpenError::Failed(why)))) => failed(&why),
                    Ok(Ok(Err(OpenError::Full))) => OpenAnswer::Full,
                    Ok(Ok(Ok(())) | Err(_)) => failed("the host panicked"),
                    Err(_) => failed("the session did not open in time"),
                }
            }
        }
    }

    async fn carry(&self, carry: Carry, to: &dyn Answer) -> CarryAnswer {
        let Carry { job, session, work, attempt, within_ms, body } = carry;
        let Some((slot, gate)) = self.enter(|host| host.slots().get(&job).cloned()).await else {
            return CarryAnswer::Unknown;
        };
        if *gate != Some(session) {
            return CarryAnswer::Unknown;
        }
        let unit = Unit { work, attempt };
        let running = match slot.running(&unit) {
            Some(running) => {
                say(to, &CarryAnswer::Begun).await;
                running
            }
            None if self.is_closing() => return CarryAnswer::Unknown,
            None => {
                let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
                    return CarryAnswer::Busy;
                };
                say(to, &CarryAnswer::Begun).await;
                let (keeper, body) = (Arc::clone(&self.args.keeper), Bytes::from(body));
                let within = Duration::from_millis(within_ms);
                slot.start(Start { keeper, job, unit, within, body, place }, &self.tracker)
            }
        };
        drop(gate);
        running.answer().await
    }

    /// Closes the session of a job: the given one, or any that was idle for a time. Returns whether
    /// there was one.
    async fn end(&self, job: &JobId, session: Option<SessionId>, idle: Option<Duration>) -> bool {
        let Some((slot, mut gate)) = self.enter(|host| host.slots().get(job).cloned()).await else {
            return false;
        };
        let is_meant = session.is_none_or(|session| *gate == Some(session))
            && idle.is_none_or(|idle| slot.is_idle_for(idle));
        let Some(session) = gate.take_if(|_| is_meant) else { return false };
        self.entries.release(job, session).await;
        slot.stop().await;
        self.close(job).await;
        self.slots().remove(job);
        true
    }

    async fn close(&self, job: &JobId) {
        let keeper = &self.args.keeper;
        let closing = AssertUnwindSafe(keeper.close(job)).catch_unwind();
        let why = match tokio::time::timeout(CLOSING, closing).await {
            Ok(Ok(())) => return,
            Ok(Err(_)) => "the keeper panicked",
            Err(_) => "it took too long",
        };
        tracing::error!(%job, kind = %keeper.kind(), why, "a session was not closed");
    }

    /// Closes idle sessions, and removes entries without a session.
    async fn sweep(&self) {
        let jobs: Vec<JobId> = self.slots().keys().cloned().collect();
        for job in jobs {
            self.end(&job, None, Some(self.args.limits.idle)).await;
        }
        // A slot exists before its entry.
        self.entries.sweep(|job| self.slots().contains_key(job)).await;
    }

    /// Lets running work end, and closes all sessions.
    async fn finish(&self) {
        self.tracker.close();
        if tokio::time::timeout(DRAIN, self.tracker.wait()).await.is_err() {
            tracing::warn!(left = self.tracker.len(), "work in sessions is canceled");
        }
        let jobs: Vec<JobId> = self.slots().keys().cloned().collect();
        let ends = jobs.iter().map(|job| self.end(job, None, None));
        let closed = async {
            futures::future::join_all(ends).await;
            self.tracker.wait().await;
        };
        if tokio::time::timeout(CLOSING, closed).await.is_err() {
            tracing::warn!(left = self.slots().len(), "sessions did not close in time");
        }
    }
}

/// Awaits work, and reports every [`ALIVE_EVERY`] that it is in progress.
async fn alive<T>(to: &dyn Answer, working: &impl Wire, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        match tokio::time::timeout(ALIVE_EVERY, &mut work).await {
            Ok(done) => return done,
            Err(_) => say(to, working).await,
        }
    }
}

/// Sends an answer. Nothing depends on its arrival: the asker may be gone.
async fn say(to: &dyn Answer, answer: &impl Wire) {
    if let Err(error) = try_say(to, answer).await {
        tracing::debug!(%error, "an answer of a host could not be sent");
    }
}

async fn try_say(to: &dyn Answer, answer: &impl Wire) -> Result<(), BusError> {
    let payload = wire::encode(answer).map_err(|error| BusError::Unavailable(error.to_string()))?;
    // A connection that was lost for long blocks, and the asker has given up before.
    match tokio::time::timeout(SILENCE, to.send(payload.into())).await {
        Ok(sent) => sent,
        Err(late) => Err(BusError::Unavailable(late.to_string())),
    }
}

fn failed(why: &str) -> OpenAnswer {
    OpenAnswer::Failed { why: excerpt(why) }
}
