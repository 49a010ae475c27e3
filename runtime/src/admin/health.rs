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
use proto::id::Shard;
use serde::Serialize;
use tokio::{sync::Mutex, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    actor::{End, Ending},
    presence::{Crew, Status},
    telemetry::Identity,
};

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
    /// The finding, as a sentence for users.
    pub found: String,
}

impl Check {
    fn good(found: impl Into<String>) -> Self {
        Self { ok: true, found: found.into() }
    }

    fn bad(found: impl Into<String>) -> Self {
        Self { ok: false, found: found.into() }
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
        match self.0.watched.get().and_then(|watched| watched.tree.so_far()) {
            Some(End::GaveUp { child, why: _, shown: _ }) => Err(format!("{child} kept failing")),
            Some(End::Finished) | None => Ok(()),
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
            checks.insert(
                "draining",
                Check::bad("finishing the work in progress, taking no new work"),
            );
        }
        let Some(watched) = self.0.watched.get() else {
            checks.insert("start", Check::bad("not at work yet"));
            return checks;
        };
        if let Err(why) = self.alive() {
            checks.insert("actors", Check::bad(why));
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
        Ok(Ok(connection)) => (
            Check::good(format!("answers in {} µs", start.elapsed().as_micros())),
            Some(connection),
        ),
        Ok(Err(error)) => (Check::bad(error.to_string()), None),
        Err(_) => (Check::bad(format!("no answer within {} s", PATIENCE.as_secs())), None),
    }
}

/// Checks the streams. The last success is reused for [`CHECK_EVERY`] unless the connection was
/// lost meanwhile.
async fn right(log: &dyn Log, connection: Option<u64>, streams: &mut Option<Streams>) -> Check {
    let good = || Check::good(format!("{} as configured", log.subjects().shards()));
    let Some(connection) = connection else {
        return Check::bad("cannot be checked without NATS");
    };
    if streams.is_some_and(|s| s.connection == connection && s.at.elapsed() < CHECK_EVERY) {
        return good();
    }
    *streams = None;
    let why = match tokio::time::timeout(PATIENCE, log.check()).await {
        Ok(Ok(())) => {
            *streams = Some(Streams { at: Instant::now(), connection });
            return good();
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
    };
    Check::bad(why)
}

/// Checks whether this supervisor owns a shard, or other supervisors own all of them.
fn shards(watched: &Watched) -> Check {
    let all = usize::from(watched.broker.log.subjects().shards());
    let own = watched.status.presence().shards.len();
    if own > 0 {
        return Check::good(format!("{own} of {all} owned here"));
    }
    let crew = watched.crew.members();
    let owned: BTreeSet<Shard> = crew
        .values()
        .filter(|member| member.roles.iter().any(|role| role == SUPERVISOR))
        .flat_map(|member| member.shards.iter().copied())
        .collect();
    if owned.len() >= all {
        Check::good(format!("none owned here, all {all} owned by others"))
    } else {
        Check::bad(format!("none owned here, {} of {all} owned by others", owned.len()))
    }
}

/// Checks whether the owned shards store records.
fn writes(status: &Status) -> Check {
    let unwritable = status.unwritable();
    let Some((shard, why)) = unwritable.first_key_value() else {
        return Check::good("the owned shards store records");
    };
    let more = match unwritable.len() {
        1 => String::new(),
        n => format!(" (and {} more shards)", n - 1),
    };
    Check::bad(format!(
        "shard {shard} stores no records{more}: {why}. Free disk space, then restart nats-server, which keeps the error until then"
    ))
}

/// Checks whether every pool receives commands.
fn pools(status: &Status) -> Check {
    let at_rest = status.pools_at_rest();
    if at_rest.is_empty() {
        let pools = status.presence().pools.len();
        return Check::good(format!("{pools} taking commands"));
    }
    Check::bad(format!("no commands reach {}", at_rest.join(", ")))
}
