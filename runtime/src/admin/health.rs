//! The health of the process: liveness and readiness. The checks cost the broker one small request
//! a second at most, independent of the number of probes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
    time::Duration,
};

use broker::{
    Broker,
    log::{Log, Maintenance},
};
use proto::{
    id::Shard,
    lang::{Language, Words},
    refusal::Reason,
};
use serde::Serialize;
use tokio::{sync::Mutex, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    actor::{End, Ending},
    presence::{Crew, Status},
    telemetry::Identity,
};

messages::texts!(health);

impl From<Text<'_>> for Words {
    fn from(text: Text<'_>) -> Self {
        Self::new(|language| text.text(language))
    }
}

/// The name of the role that owns shards.
const SUPERVISOR: &str = "supervisor";
/// The time for which a report is reused.
const FRESH: Duration = Duration::from_secs(1);
/// Timeout of a request to the broker.
const PATIENCE: Duration = Duration::from_secs(2);
/// The time for which a successful check of the streams is reused, over one connection.
const CHECK_EVERY: Duration = Duration::from_secs(60);

/// The parts of a started process that the checks examine.
#[derive(Debug, Clone)]
pub struct Watched {
    /// The connection to the broker.
    pub broker: Broker,
    /// The status of this process.
    pub status: Status,
    /// The live processes of the installation.
    pub crew: Crew,
    /// The end of the supervision tree.
    pub tree: Ending,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// `true` if the check passed.
    pub ok: bool,
    /// The finding in English, as a sentence for users.
    pub found: String,
    /// The finding in every language.
    pub reason: Reason,
}

impl Check {
    fn good(found: Text<'_>) -> Self {
        Self::of(true, &found.into())
    }

    fn bad(found: Text<'_>) -> Self {
        Self::of(false, &found.into())
    }

    fn of(ok: bool, found: &Words) -> Self {
        Self { ok, found: found.text(Language::En).to_owned(), reason: found.into() }
    }
}

/// The readiness of the process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// `true` if every check passed.
    pub ready: bool,
    /// The id of the process.
    pub worker: String,
    /// Callboard's version.
    pub version: String,
    /// The roles of the process.
    pub roles: Vec<String>,
    /// The checks by name.
    pub checks: BTreeMap<&'static str, Check>,
}

/// The health of this process. Clones share it.
#[derive(Debug, Clone)]
pub struct Health(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    identity: Identity,
    shutdown: CancellationToken,
    watched: OnceLock<Watched>,
    /// Serialises checks. Requests that arrive during a check share its result.
    seen: Mutex<ProbeCache>,
}

#[derive(Debug, Default)]
struct ProbeCache {
    report: Option<(Instant, Arc<Report>)>,
    streams: Option<Streams>,
}

/// The time of the last successful check of the streams, and its connection.
#[derive(Debug, Clone, Copy)]
struct Streams {
    at: Instant,
    connection: u64,
}

impl Health {
    /// Creates the health of a process that is starting. The process drains once `shutdown` is
    /// canceled.
    #[must_use]
    pub fn new(identity: Identity, shutdown: CancellationToken) -> Self {
        let inner = Inner { identity, shutdown, watched: OnceLock::new(), seen: Mutex::default() };
        Self(Arc::new(inner))
    }

    /// Sets the parts to check, once the process has started.
    pub fn watch(&self, watched: Watched) {
        // A process starts only once.
        let _ = self.0.watched.set(watched);
    }

    /// Checks whether the process is alive. A process without a broker is alive, because a restart
    /// would not help.
    ///
    /// # Errors
    /// The reason, when the supervision tree gave up. The process should then be restarted.
    pub fn alive(&self) -> Result<(), String> {
        let failed = |child: String| Text::KeptFailing { child: &child }.text(Language::En);
        self.given_up().map_or(Ok(()), |child| Err(failed(child)))
    }

    /// Returns the part of the supervision tree that it gave up.
    fn given_up(&self) -> Option<String> {
        match self.0.watched.get().and_then(|watched| watched.tree.so_far()) {
            Some(End::GaveUp { child, why: _, shown: _ }) => Some(child.to_string()),
            Some(End::Finished) | None => None,
        }
    }

    /// Returns whether the process can do its work now, with every check. A recent report is
    /// reused.
    pub async fn report(&self) -> Arc<Report> {
        let mut seen = self.0.seen.lock().await;
        let draining = self.0.shutdown.is_cancelled();
        match &seen.report {
            // The beginning of a drain is reported at once.
            Some((at, report)) if at.elapsed() < FRESH && !(draining && report.ready) => {
                return Arc::clone(report);
            }
            Some(_) | None => {}
        }
        let checks = self.look(&mut seen.streams, draining).await;
        let Identity { worker, roles, version } = self.0.identity.clone();
        let report = Arc::new(Report {
            ready: checks.values().all(|check| check.ok),
            worker: worker.to_string(),
            version,
            roles,
            checks,
        });
        seen.report = Some((Instant::now(), Arc::clone(&report)));
        report
    }

    async fn look(
        &self,
        streams: &mut Option<Streams>,
        draining: bool,
    ) -> BTreeMap<&'static str, Check> {
        let mut checks = BTreeMap::new();
        if draining {
            checks.insert("draining", Check::bad(Text::Draining));
        }
        let Some(watched) = self.0.watched.get() else {
            checks.insert("start", Check::bad(Text::Starting));
            return checks;
        };
        if let Some(child) = self.given_up() {
            checks.insert("actors", Check::bad(Text::KeptFailing { child: &child }));
        }
        let log = &*watched.broker.log;
        let (nats, connection) = reached(log).await;
        checks.insert("nats", nats);
        checks.insert("streams", right(log, connection, streams).await);
        if self.0.identity.roles.iter().any(|role| role == SUPERVISOR) {
            checks.insert("shards", shards(watched));
            checks.insert("writes", writes(&watched.status));
        }
        checks.insert("pools", pools(&watched.status));
        checks
    }
}

/// Pings the broker. Returns the check, and the number of the connection if the broker answered.
async fn reached(log: &dyn Maintenance) -> (Check, Option<u64>) {
    let start = Instant::now();
    match tokio::time::timeout(PATIENCE, log.ping()).await {
        Ok(Ok(connection)) => {
            (Check::good(Text::Answers { micros: &start.elapsed().as_micros() }), Some(connection))
        }
        Ok(Err(error)) => (Check::of(false, &error.words()), None),
        Err(_) => (Check::bad(Text::NoAnswer { seconds: &PATIENCE.as_secs() }), None),
    }
}

/// Checks the streams. The last success is reused for [`CHECK_EVERY`] unless the connection was
/// lost meanwhile.
async fn right(log: &dyn Log, connection: Option<u64>, streams: &mut Option<Streams>) -> Check {
    let good = || Check::good(Text::AsConfigured { shards: &log.subjects().shards() });
    let Some(connection) = connection else {
        return Check::bad(Text::WithoutNats);
    };
    if streams.is_some_and(|s| s.connection == connection && s.at.elapsed() < CHECK_EVERY) {
        return good();
    }
    *streams = None;
    match tokio::time::timeout(PATIENCE, log.check()).await {
        Ok(Ok(())) => {
            *streams = Some(Streams { at: Instant::now(), connection });
            good()
        }
        Ok(Err(error)) => Check::of(false, &error.words()),
        Err(_) => Check::bad(Text::NoAnswer { seconds: &PATIENCE.as_secs() }),
    }
}

/// Checks whether this supervisor owns a shard, or other supervisors own all of them.
fn shards(watched: &Watched) -> Check {
    let all = usize::from(watched.broker.log.subjects().shards());
    let own = watched.status.presence().shards.len();
    if own > 0 {
        return Check::good(Text::OwnedHere { own: &own, all: &all });
    }
    let crew = watched.crew.members();
    let owned: BTreeSet<Shard> = crew
        .values()
        .filter(|member| member.roles.iter().any(|role| role == SUPERVISOR))
        .flat_map(|member| member.shards.iter().copied())
        .collect();
    if owned.len() >= all {
        Check::good(Text::OwnedByOthers { all: &all })
    } else {
        Check::bad(Text::NotAllOwned { owned: &owned.len(), all: &all })
    }
}

/// Checks whether the owned shards store records.
fn writes(status: &Status) -> Check {
    let unwritable = status.unwritable();
    let Some((shard, why)) = unwritable.first_key_value() else {
        return Check::good(Text::StoresRecords);
    };
    let more = &(unwritable.len() - 1);
    Check::bad(match more {
        0 => Text::StoresNone { shard, why },
        _ => Text::StoreNone { shard, more, why },
    })
}

/// Checks whether every pool receives commands.
fn pools(status: &Status) -> Check {
    let at_rest = status.pools_at_rest();
    if at_rest.is_empty() {
        let pools = status.presence().pools.len();
        return Check::good(Text::TakingCommands { pools: &pools });
    }
    Check::bad(Text::NoCommands { pools: &at_rest.join(", ") })
}
