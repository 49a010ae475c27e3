//! Who is there, as heard by one process.

use std::{collections::BTreeMap, sync::Arc};

use broker::Broker;
use futures::StreamExt;
use proto::{
    id::WorkerId,
    wire::{self, Presence},
};
use tokio::{
    sync::watch,
    time::{Instant, MissedTickBehavior},
};
use tokio_util::task::AbortOnDropHandle;

use super::{CREW_MAX, EVERY, EXPIRY, REOPEN};

/// Who is there, as heard from here.
#[derive(Debug, Clone)]
pub struct Crew {
    members: watch::Receiver<Arc<BTreeMap<WorkerId, Presence>>>,
    latest: watch::Receiver<Arc<BTreeMap<WorkerId, Presence>>>,
    opened: Instant,
    _task: Arc<AbortOnDropHandle<()>>,
}

impl Crew {
    /// Listens from now on. All present processes are known after [`Crew::settled`].
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
                        news |= hear(&mut heard, &message.payload);
                    }
                    _ = sweep.tick() => {}
                }
                let (now, before) = (Instant::now(), heard.len());
                heard.retain(|_, (_, at)| now.duration_since(*at) < EXPIRY);
                // Most say what they said before: then there is nothing to copy, nor to tell.
                if news || heard.len() != before {
                    tell(&heard, &members, &latest);
                }
            },
            // The first time it may be that the process ends and the connection is closed already.
            Err(error) if failures == 0 => {
                failures += 1;
                tracing::debug!(%error, "the presence messages cannot be read; retrying");
            }
            Err(error) => tracing::warn!(%error, "the presence messages cannot be read; retrying"),
        }
        tokio::time::sleep(REOPEN).await;
    }
}

/// Takes in what somebody said, and tells whether it is anything new.
fn hear(heard: &mut BTreeMap<WorkerId, (Presence, Instant)>, payload: &[u8]) -> bool {
    let presence = match wire::decode::<Presence>(payload) {
        Ok(presence) => presence,
        Err(error) => {
            tracing::debug!(%error, "a presence cannot be read");
            return false;
        }
    };
    let now = Instant::now();
    if let Some((before, at)) = heard.get_mut(&presence.worker) {
        *at = now;
        let news = *before != presence;
        if news {
            *before = presence;
        }
        return news;
    }
    if heard.len() >= CREW_MAX {
        tracing::warn!("the crew has more processes than the limit; one is ignored");
        return false;
    }
    heard.insert(presence.worker.clone(), (presence, now));
    true
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
