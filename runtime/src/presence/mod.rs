//! Presence: every process announces itself once a second. It is a hint for load balancing and for
//! people; nothing that must be right depends on it.

mod crew;
mod observe;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use broker::{Broker, clock::Clock};
use bytes::Bytes;
use proto::{
    id::{Shard, WorkerId},
    wire::{self, Presence},
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

pub use self::{
    crew::Crew,
    observe::{ROLES, SPEAKER, observe},
};
use crate::worker::Gauge;

/// How often a process says that it is there.
pub const EVERY: Duration = Duration::from_secs(1);
/// A process that was not heard for this long is gone.
pub const EXPIRY: Duration = Duration::from_secs(3);
/// Processes that are remembered at most; more are not ours.
const CREW_MAX: usize = 10_000;
/// Wait before a subscription that broke is opened again.
const REOPEN: Duration = Duration::from_millis(500);

/// The name of this machine.
#[must_use]
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

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
        let fixed = Presence {
            worker,
            roles,
            version: version.to_owned(),
            host: host_name(),
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

    /// The names of the pools that no command reaches at the moment.
    #[must_use]
    pub fn pools_at_rest(&self) -> Vec<String> {
        let at_rest = |gauge: &&Gauge| !gauge.is_taking();
        self.change(|c| c.gauges.iter().filter(at_rest).map(|g| g.load().pool).collect())
    }

    /// Whether it takes nothing new any more.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.shutdown.is_cancelled()
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

/// Says once a second that the process is there, under each of its roles; at once when it begins to
/// drain, and as its last word: then others take over now instead of waiting for its silence. Never
/// finishes by itself: a tree has it in the background.
#[derive(Debug)]
pub struct Beacon;

/// What a beacon says, and where.
pub type BeaconArgs = (Broker, Status);

impl Actor for Beacon {
    type Msg = ();
    type State = BeaconState;
    type Arguments = BeaconArgs;

    async fn pre_start(
        &self,
        myself: ActorRef<()>,
        args: BeaconArgs,
    ) -> Result<BeaconState, ActorProcessingErr> {
        myself.cast(())?;
        myself.send_interval(EVERY, || ());
        let shutdown = args.1.shutdown.clone();
        let herald = async move {
            shutdown.cancelled().await;
            let _ = myself.cast(());
        };
        Ok(BeaconState { args, _herald: AbortOnDropHandle::new(tokio::spawn(herald)) })
    }

    async fn handle(
        &self,
        _: ActorRef<()>,
        (): (),
        state: &mut BeaconState,
    ) -> Result<(), ActorProcessingErr> {
        let (broker, status) = &state.args;
        say(broker, &status.presence()).await?;
        Ok(())
    }

    async fn post_stop(
        &self,
        _: ActorRef<()>,
        state: &mut BeaconState,
    ) -> Result<(), ActorProcessingErr> {
        let (broker, status) = &state.args;
        say(broker, &Presence { draining: true, shards: Vec::new(), ..status.presence() }).await?;
        // The process may end right after this.
        if let Err(error) = broker.bus.settle().await {
            tracing::debug!(%error, "the last presence message may be lost");
        }
        Ok(())
    }
}

/// What a beacon keeps.
#[derive(Debug)]
pub struct BeaconState {
    args: BeaconArgs,
    _herald: AbortOnDropHandle<()>,
}

async fn say(broker: &Broker, presence: &Presence) -> Result<(), wire::Unreadable> {
    let payload = Bytes::from(wire::encode(presence)?);
    for role in &presence.roles {
        let subject = broker.log.subjects().presence(role, &presence.worker);
        if let Err(error) = broker.bus.publish(subject, payload.clone()).await {
            tracing::debug!(%error, "presence could not be published");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
