//! Presence: every process announces itself once a second. It is a hint for load balancing and for
//! operators; correctness does not depend on it.

mod crew;
mod observe;

use std::{
    collections::{BTreeMap, BTreeSet},
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
    crew::{Crew, is_foreign},
    observe::{ROLES, SPEAKER, observe},
};
use crate::worker::Gauge;

/// The interval between announcements of a process.
pub const EVERY: Duration = Duration::from_secs(1);
/// The time after which a silent process counts as gone.
pub const EXPIRY: Duration = Duration::from_secs(3);
/// The time after which a silent worker in another language counts as gone. It is longer than
/// [`EXPIRY`], because the runtime of such a worker may pause.
pub const WORKER_EXPIRY: Duration = Duration::from_secs(8);
/// The maximum number of processes in a crew. Announcements beyond it are not from this
/// installation.
const CREW_MAX: usize = 10_000;
/// Wait before a subscription that broke is opened again.
const REOPEN: Duration = Duration::from_millis(500);

/// Returns the host name of this machine.
#[must_use]
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The status that a process announces. Clones share it.
#[derive(Debug, Clone)]
pub struct Status {
    fixed: Arc<Presence>,
    changing: Arc<Mutex<Changing>>,
    shutdown: CancellationToken,
}

#[derive(Debug, Default)]
struct Changing {
    shards: BTreeSet<Shard>,
    unwritable: BTreeMap<Shard, String>,
    gauges: Vec<Gauge>,
}

impl Status {
    /// Creates the status of this process. The process drains once `shutdown` is canceled.
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

    /// Returns the id of the process.
    #[must_use]
    pub fn worker(&self) -> &WorkerId {
        &self.fixed.worker
    }

    /// Returns the release of Callboard that the process announces.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.fixed.version
    }

    /// Adds a pool to the announcements.
    pub fn show(&self, gauge: Gauge) {
        self.change(|c| c.gauges.push(gauge));
    }

    /// Sets whether the process owns a shard.
    pub fn set_shard(&self, shard: Shard, owned: bool) {
        self.change(|c| {
            c.unwritable.remove(&shard);
            if owned { c.shards.insert(shard) } else { c.shards.remove(&shard) }
        });
    }

    /// Sets the reason for which an owned shard stores no records; `None` if it does. Returns `true`
    /// if it stored none before. A shard that was given away meanwhile has no reason.
    pub fn set_unwritable(&self, shard: Shard, why: Option<String>) -> bool {
        let before = self.change(|c| match why {
            Some(why) if c.shards.contains(&shard) => c.unwritable.insert(shard, why),
            Some(_) | None => c.unwritable.remove(&shard),
        });
        before.is_some()
    }

    /// Returns the owned shards that store no records, each with the reason.
    #[must_use]
    pub fn unwritable(&self) -> BTreeMap<Shard, String> {
        self.change(|c| c.unwritable.clone())
    }

    /// Returns the names of the pools whose command stream is not open.
    #[must_use]
    pub fn pools_at_rest(&self) -> Vec<String> {
        let at_rest = |gauge: &&Gauge| !gauge.is_taking();
        self.change(|c| c.gauges.iter().filter(at_rest).map(|g| g.load().pool).collect())
    }

    /// Returns the current announcement.
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

/// An actor that announces the process once a second, under each of its roles. It also announces
/// the beginning of a drain at once, and sends a last announcement when it stops, so that other
/// processes take over without waiting for [`EXPIRY`]. It never finishes by itself, so a tree has
/// it in the background.
#[derive(Debug)]
pub struct Beacon;

/// The broker to announce on, and the status to announce.
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
        // The process may end right after this, so pending messages are flushed.
        if let Err(error) = broker.bus.settle().await {
            tracing::debug!(%error, "the last presence message may be lost");
        }
        Ok(())
    }
}

/// The state of a beacon.
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
