//! The live processes of the installation, as this process hears them.

use std::{collections::BTreeMap, sync::Arc};

use broker::Broker;
use bytes::Bytes;
use futures::StreamExt;
use proto::{
    id::WorkerId,
    presence::{self, WORKER},
    wire::{self, Presence},
};
use tokio::{
    sync::watch,
    time::{Instant, MissedTickBehavior},
};
use tokio_util::task::AbortOnDropHandle;

use super::{CREW_MAX, EVERY, EXPIRY, REOPEN, WORKER_EXPIRY};

/// The live processes of the installation, by their last announcements. Clones share the
/// subscription.
#[derive(Debug, Clone)]
pub struct Crew {
    members: watch::Receiver<Arc<BTreeMap<WorkerId, Presence>>>,
    latest: watch::Receiver<Arc<BTreeMap<WorkerId, Presence>>>,
    opened: Instant,
    _task: Arc<AbortOnDropHandle<()>>,
}

impl Crew {
    /// Subscribes to announcements. All live processes are known after [`Crew::settled`].
    #[must_use]
    pub fn open(broker: &Broker) -> Self {
        let (members_tx, members) = watch::channel(Arc::default());
        let (latest_tx, latest) = watch::channel(Arc::default());
        let task = tokio::spawn(listen(broker.clone(), members_tx, latest_tx));
        let task = Arc::new(AbortOnDropHandle::new(task));
        Self { members, latest, opened: Instant::now(), _task: task }
    }

    /// Waits until every live process had time for an announcement.
    pub async fn settled(&self) {
        tokio::time::sleep_until(self.opened + EVERY * 2).await;
    }

    /// Returns `true` once every live process had time for an announcement.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        Instant::now() >= self.opened + EVERY * 2
    }

    /// Returns every live process with its last announcement.
    #[must_use]
    pub fn members(&self) -> Arc<BTreeMap<WorkerId, Presence>> {
        Arc::clone(&self.latest.borrow())
    }

    /// Returns whether a process is live.
    #[must_use]
    pub fn has(&self, worker: &WorkerId) -> bool {
        self.latest.borrow().contains_key(worker)
    }

    /// Returns a receiver that is notified when a process arrives, leaves, begins to drain, or
    /// changes its roles or shards, but not when only its load changes. Its presences are those of
    /// the last such change.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Arc<BTreeMap<WorkerId, Presence>>> {
        self.members.clone()
    }
}

type CrewSender = watch::Sender<Arc<BTreeMap<WorkerId, Presence>>>;

async fn listen(broker: Broker, members: CrewSender, latest: CrewSender) {
    let mut heard: BTreeMap<WorkerId, Heard> = BTreeMap::new();
    let mut sweep = tokio::time::interval(EVERY / 4);
    sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failures = 0_u32;
    loop {
        let subject = broker.log.subjects().all_presence();
        match broker.bus.subscribe(subject).await {
            Ok(mut said) => loop {
                failures = 0;
                let mut news = false;
                tokio::select! {
                    biased;
                    message = said.next() => {
                        let Some(message) = message else { break };
                        let sender = broker.log.subjects().present(&message.subject);
                        news |= hear(&mut heard, sender, &message.payload);
                    }
                    _ = sweep.tick() => {}
                }
                let (now, before) = (Instant::now(), heard.len());
                heard.retain(|_, heard| now.duration_since(heard.at) < expiry(&heard.presence));
                if news || heard.len() != before {
                    tell(&heard, &members, &latest);
                }
            },
            // The first failure is expected when the process ends and the connection is closed
            // already.
            Err(error) if failures == 0 => {
                failures += 1;
                tracing::debug!(%error, "the presence messages cannot be read; retrying");
            }
            Err(error) => tracing::warn!(%error, "the presence messages cannot be read; retrying"),
        }
        tokio::time::sleep(REOPEN).await;
    }
}

/// Returns the time after which a silent process counts as gone.
fn expiry(said: &Presence) -> std::time::Duration {
    if is_foreign(said) { WORKER_EXPIRY } else { EXPIRY }
}

/// Returns whether the announcement came from a worker in another language.
#[must_use]
pub fn is_foreign(said: &Presence) -> bool {
    said.roles.iter().all(|role| role == WORKER)
}

/// Parses an announcement in the form of its sender's role. The subject determines the sender,
/// because the broker checks the rights to it.
fn parse(sender: Option<(&str, WorkerId)>, payload: &[u8]) -> Result<Presence, String> {
    let (role, worker) = sender.ok_or("the subject names no worker")?;
    if role == WORKER {
        return presence::of_worker(worker, payload);
    }
    let said = wire::decode::<Presence>(payload).map_err(|error| error.to_string())?;
    match said.worker == worker && said.roles.iter().any(|one| one == role) {
        true => Ok(said),
        false => Err(format!("{} announces itself as {role} {worker}", said.worker)),
    }
}

/// A live process.
struct Heard {
    presence: Presence,
    at: Instant,
    /// The announcement from which the presence was read.
    payload: Bytes,
}

/// Stores an announcement, and returns whether it changed anything.
fn hear(
    heard: &mut BTreeMap<WorkerId, Heard>,
    sender: Option<(&str, WorkerId)>,
    payload: &[u8],
) -> bool {
    let at = Instant::now();
    // Most announcements repeat the last one, which a process sends for each of its roles.
    if let Some((role, worker)) = &sender
        && let Some(before) = heard.get_mut(worker)
        && before.payload == payload
        && before.presence.roles.iter().any(|one| one == role)
    {
        before.at = at;
        return false;
    }
    let presence = match parse(sender, payload) {
        Ok(presence) => presence,
        Err(error) => {
            tracing::debug!(%error, "a presence cannot be read");
            return false;
        }
    };
    let before = heard.get(&presence.worker).map(|before| &before.presence);
    // A worker in another language never replaces a process of Callboard.
    if is_foreign(&presence) && before.is_some_and(|before| !is_foreign(before)) {
        return false;
    }
    if before.is_none() && heard.len() >= CREW_MAX {
        tracing::warn!("the crew has more processes than the limit; one is ignored");
        return false;
    }
    let is_new = before != Some(&presence);
    // The announcement is part of a larger buffer of the connection.
    let payload = Bytes::copy_from_slice(payload);
    heard.insert(presence.worker.clone(), Heard { presence, at, payload });
    is_new
}

fn tell(heard: &BTreeMap<WorkerId, Heard>, members: &CrewSender, latest: &CrewSender) {
    let now: BTreeMap<_, _> =
        heard.iter().map(|(w, heard)| (w.clone(), heard.presence.clone())).collect();
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

/// Returns whether two presences differ in nothing but their load.
fn alike(a: &Presence, b: &Presence) -> bool {
    a.worker == b.worker
        && a.roles == b.roles
        && a.shards == b.shards
        && a.draining == b.draining
        && (a.pid, a.started_ms) == (b.pid, b.started_ms)
}
