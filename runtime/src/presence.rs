//! Who is there: every process says so once a second, and whoever wants to know listens. A hint for
//! balance and for people; nothing that must be right depends on it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use futures::StreamExt;
use proto::{
    id::{Shard, WorkerId},
    wire::{self, Presence},
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::{
    sync::watch,
    time::{Instant, MissedTickBehavior},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{broker::Broker, clock::Clock, worker::Gauge};

/// How often a process says that it is there.
pub const EVERY: Duration = Duration::from_secs(1);
/// A process that was not heard for this long is gone.
pub const EXPIRY: Duration = Duration::from_secs(3);
/// Processes that are remembered at most; more are not ours.
const CREW_MAX: usize = 10_000;
/// Wait before a subscription that broke is opened again.
const REOPEN: Duration = Duration::from_millis(500);

/// What a process says of itself. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Status {
    fixed: Arc<Presence>,
    changing: Arc<Mutex<Changing>>,
    shutdown: CancellationToken,
}

#[derive(Debug, Default)]
struct Changing {
    shards: BTreeSet<Shard>,
    gauges: Vec<Gauge>,
}

impl Status {
    /// The status of this process, in some roles. It drains from when `shutdown` is canceled.
    #[must_use]
    pub fn new(
        worker: WorkerId,
        roles: Vec<String>,
        version: &str,
        clock: &dyn Clock,
        shutdown: CancellationToken,
    ) -> Self {
        let started_ms = u64::try_from(clock.now().as_millisecond()).unwrap_or_default();
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let fixed = Presence {
            worker,
            roles,
            version: version.to_owned(),
            host,
            pid: std::process::id(),
            started_ms,
            shards: Vec::new(),
            pools: Vec::new(),
            draining: false,
        };
        Self { fixed: Arc::new(fixed), changing: Arc::default(), shutdown }
    }

    /// The process.
    #[must_use]
    pub fn worker(&self) -> &WorkerId {
        &self.fixed.worker
    }

    /// Shows a pool from now on.
    pub fn show(&self, gauge: Gauge) {
        self.change(|c| c.gauges.push(gauge));
    }

    /// The process owns a shard, or does not any more.
    pub fn set_shard(&self, shard: Shard, owned: bool) {
        self.change(|c| if owned { c.shards.insert(shard) } else { c.shards.remove(&shard) });
    }

    /// What it says now.
    #[must_use]
    pub fn presence(&self) -> Presence {
        self.change(|c| Presence {
            shards: c.shards.iter().copied().collect(),
            pools: c.gauges.iter().map(Gauge::load).collect(),
            draining: self.shutdown.is_cancelled(),
            ..(*self.fixed).clone()
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut Changing) -> T) -> T {
        change(&mut self.changing.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Says once a second that the process is there, under each of its roles. Never finishes by itself:
/// a tree has it in the background.
#[derive(Debug)]
pub struct Beacon;

/// What a beacon says, and where.
pub type BeaconArgs = (Broker, Status);

impl Actor for Beacon {
    type Msg = ();
    type State = BeaconArgs;
    type Arguments = BeaconArgs;

    async fn pre_start(
        &self,
        myself: ActorRef<()>,
        args: BeaconArgs,
    ) -> Result<BeaconArgs, ActorProcessingErr> {
        myself.cast(())?;
        myself.send_interval(EVERY, || ());
        Ok(args)
    }

    async fn handle(
        &self,
        _: ActorRef<()>,
        (): (),
        (broker, status): &mut BeaconArgs,
    ) -> Result<(), ActorProcessingErr> {
        let presence = status.presence();
        let payload = Bytes::from(wire::encode(&presence)?);
        for role in &presence.roles {
            let subject = broker.log.subjects().presence(role, &presence.worker);
            if let Err(error) = broker.bus.publish(subject, payload.clone()).await {
                tracing::debug!(%error, "presence could not be said");
            }
        }
        Ok(())
    }
}

/// Who is there, as heard from here.
#[derive(Debug, Clone)]
pub struct Crew {
    members: watch::Receiver<Arc<BTreeMap<WorkerId, Presence>>>,
    latest: watch::Receiver<Arc<BTreeMap<WorkerId, Presence>>>,
    opened: Instant,
    _task: Arc<AbortOnDropHandle<()>>,
}

impl Crew {
    /// Listens from now on. Whoever is there is known after [`Crew::settled`].
    #[must_use]
    pub fn open(broker: &Broker) -> Self {
        let (members_tx, members) = watch::channel(Arc::default());
        let (latest_tx, latest) = watch::channel(Arc::default());
        let task = tokio::spawn(listen(broker.clone(), members_tx, latest_tx));
        let task = Arc::new(AbortOnDropHandle::new(task));
        Self { members, latest, opened: Instant::now(), _task: task }
    }

    /// Waits until everybody who is there had time to say so.
    pub async fn settled(&self) {
        tokio::time::sleep_until(self.opened + EVERY * 2).await;
    }

    /// Everybody who is there, with what they said last.
    #[must_use]
    pub fn members(&self) -> Arc<BTreeMap<WorkerId, Presence>> {
        Arc::clone(&self.latest.borrow())
    }

    /// Whether a process is there.
    #[must_use]
    pub fn has(&self, worker: &WorkerId) -> bool {
        self.latest.borrow().contains_key(worker)
    }

    /// Changes whenever somebody comes, goes, begins to drain, changes roles or shards; not when
    /// they are merely busier. The presences in it are as of the last such change.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Arc<BTreeMap<WorkerId, Presence>>> {
        self.members.clone()
    }
}

type Said = watch::Sender<Arc<BTreeMap<WorkerId, Presence>>>;

async fn listen(broker: Broker, members: Said, latest: Said) {
    let mut heard: BTreeMap<WorkerId, (Presence, Instant)> = BTreeMap::new();
    let mut sweep = tokio::time::interval(EVERY / 4);
    sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let subject = broker.log.subjects().all_presence();
        match broker.bus.subscribe(subject).await {
            Ok(mut said) => loop {
                tokio::select! {
                    message = said.next() => {
                        let Some(message) = message else { break };
                        hear(&mut heard, &message.payload);
                    }
                    _ = sweep.tick() => {}
                }
                let now = Instant::now();
                heard.retain(|_, (_, at)| now.duration_since(*at) < EXPIRY);
                tell(&heard, &members, &latest);
            },
            Err(error) => tracing::warn!(%error, "the crew cannot be heard; trying again"),
        }
        tokio::time::sleep(REOPEN).await;
    }
}

fn hear(heard: &mut BTreeMap<WorkerId, (Presence, Instant)>, payload: &[u8]) {
    match wire::decode::<Presence>(payload) {
        Ok(presence) if heard.len() < CREW_MAX || heard.contains_key(&presence.worker) => {
            heard.insert(presence.worker.clone(), (presence, Instant::now()));
        }
        Ok(_) => tracing::warn!("more processes than a crew can have; one is ignored"),
        Err(error) => tracing::debug!(%error, "a presence cannot be read"),
    }
}

fn tell(heard: &BTreeMap<WorkerId, (Presence, Instant)>, members: &Said, latest: &Said) {
    let now: BTreeMap<_, _> = heard.iter().map(|(w, (p, _))| (w.clone(), p.clone())).collect();
    if **latest.borrow() == now {
        return;
    }
    let now = Arc::new(now);
    latest.send_replace(Arc::clone(&now));
    members.send_if_modified(|before| {
        let same = before.len() == now.len()
            && before.values().zip(now.values()).all(|(a, b)| alike(a, b));
        if !same {
            *before = Arc::clone(&now);
        }
        !same
    });
}

/// Whether two presences differ in nothing but how busy they are.
fn alike(a: &Presence, b: &Presence) -> bool {
    a.worker == b.worker
        && a.roles == b.roles
        && a.shards == b.shards
        && a.draining == b.draining
        && (a.pid, a.started_ms) == (b.pid, b.started_ms)
}

#[cfg(test)]
mod tests {
    use proto::{decision::DecisionKind, id::Pool, subject::Subjects};

    use super::*;
    use crate::{
        clock::ManualClock,
        memory::{self, MemoryOptions},
    };

    fn broker() -> Broker {
        memory::start(Subjects::new("cb", 2).unwrap(), MemoryOptions::default())
    }

    fn status(name: &str, shutdown: &CancellationToken) -> Status {
        let clock = ManualClock::new(jiff::Timestamp::UNIX_EPOCH);
        let roles = vec!["supervisor".to_owned(), "tools".to_owned()];
        Status::new(WorkerId::new(name).unwrap(), roles, "1.2.3", &clock, shutdown.clone())
    }

    async fn beacon(broker: &Broker, status: &Status) -> ActorRef<()> {
        Actor::spawn(None, Beacon, (broker.clone(), status.clone())).await.unwrap().0
    }

    fn names(crew: &BTreeMap<WorkerId, Presence>) -> Vec<&str> {
        crew.keys().map(WorkerId::as_str).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn who_speaks_is_there_and_who_is_silent_is_gone_after_three_seconds() {
        let (broker, token) = (broker(), CancellationToken::new());
        let crew = Crew::open(&broker);
        let mut changes = crew.watch();
        let (a, b) = (status("a", &token), status("b", &token));
        let one = beacon(&broker, &a).await;
        beacon(&broker, &b).await;
        crew.settled().await;
        assert_eq!(names(&crew.members()), ["a", "b"]);
        assert!(crew.has(a.worker()));
        one.kill();
        let killed = Instant::now();
        changes.wait_for(|crew| names(crew) == ["b"]).await.unwrap();
        let silent = killed.elapsed();
        assert!((2000..=4000).contains(&silent.as_millis()), "{silent:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_of_shards_or_draining_is_told_and_load_is_only_shown() {
        let (broker, token) = (broker(), CancellationToken::new());
        let crew = Crew::open(&broker);
        let status = status("a", &token);
        let gauge = Gauge::new(DecisionKind::Call, &Pool::new("builtin").unwrap(), 8);
        status.show(gauge.clone());
        beacon(&broker, &status).await;
        let mut changes = crew.watch();
        changes.wait_for(|crew| crew.len() == 1).await.unwrap();
        changes.mark_unchanged();
        let _busy = gauge.count();
        tokio::time::sleep(EVERY * 2).await;
        let load = crew.members()[status.worker()].pools[0].clone();
        assert_eq!((load.pool.as_str(), load.in_flight, load.capacity), ("call.builtin", 1, 8));
        assert!(!changes.has_changed().unwrap());
        status.set_shard(Shard(1), true);
        changes.changed().await.unwrap();
        assert_eq!(crew.members()[status.worker()].shards, [Shard(1)]);
        token.cancel();
        changes.changed().await.unwrap();
        assert!(crew.members()[status.worker()].draining);
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_read_is_passed_over() {
        let (broker, token) = (broker(), CancellationToken::new());
        let crew = Crew::open(&broker);
        tokio::task::yield_now().await;
        for payload in [&b""[..], b"\x09", b"\x01\xfd\xff\xff\xff\xff\xff\xff\xff\xff"] {
            let subject = "cb.crew.tools.x".to_owned();
            broker.bus.publish(subject, Bytes::copy_from_slice(payload)).await.unwrap();
        }
        beacon(&broker, &status("a", &token)).await;
        crew.settled().await;
        assert_eq!(names(&crew.members()), ["a"]);
    }
}
