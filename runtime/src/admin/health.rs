//! What is told about the process: whether it lives, and whether it can do its work. Looking costs
//! the broker one small request a second at most, however often it is asked.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
    time::Duration,
};

use broker::{
    Broker,
    log::{Log, LogError, Maintenance},
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

/// The role that owns shards.
const SUPERVISOR: &str = "supervisor";
/// How long a report is good for.
const FRESH: Duration = Duration::from_secs(1);
/// How long the broker may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the streams are believed to be as they were when they were looked at last, over one
/// connection.
const CHECK_EVERY: Duration = Duration::from_secs(300);

/// What there is to look at.
#[derive(Debug, Clone)]
pub struct Watched {
    /// The connection.
    pub broker: Broker,
    /// This process.
    pub status: Status,
    /// Everybody.
    pub crew: Crew,
    /// The actors.
    pub tree: Ending,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Whether it is as it must be.
    pub ok: bool,
    /// What was found, for people.
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

/// Whether the process can do its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Whether every check is.
    pub ready: bool,
    /// The process.
    pub worker: String,
    /// Callboard's version.
    pub version: String,
    /// The roles it plays.
    pub roles: Vec<String>,
    /// What was looked at, by name.
    pub checks: BTreeMap<&'static str, Check>,
}

/// The health of this process. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Health(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    identity: Identity,
    shutdown: CancellationToken,
    watched: OnceLock<Watched>,
    /// One check at a time; requests that arrive meanwhile share its outcome.
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    report: Option<(Instant, Arc<Report>)>,
    streams: Option<Streams>,
}

/// When the streams were found to be right, over which connection.
#[derive(Debug, Clone, Copy)]
struct Streams {
    at: Instant,
    connection: u64,
}

impl Health {
    /// The health of a process that only starts. It drains from when `shutdown` is canceled.
    #[must_use]
    pub fn new(identity: Identity, shutdown: CancellationToken) -> Self {
        let inner = Inner { identity, shutdown, watched: OnceLock::new(), seen: Mutex::default() };
        Self(Arc::new(inner))
    }

    /// The process has started: from now on this is looked at.
    pub fn watch(&self, watched: Watched) {
        // It starts once.
        let _ = self.0.watched.set(watched);
    }

    /// Whether the process is alive; otherwise why it should be restarted. A process
    /// whose broker is gone is alive: a restart would not help.
    ///
    /// # Errors
    /// With the reason, when the actors gave up.
    pub fn alive(&self) -> Result<(), String> {
        match self.0.watched.get().and_then(|watched| watched.tree.so_far()) {
            Some(End::GaveUp { child, why: _, shown: _ }) => Err(format!("{child} kept failing")),
            Some(End::Finished) | None => Ok(()),
        }
    }

    /// Whether the process can do its work now.
    pub async fn report(&self) -> Arc<Report> {
        let mut seen = self.0.seen.lock().await;
        let draining = self.0.shutdown.is_cancelled();
        match &seen.report {
            // A drain is told at once.
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
        }
        checks.insert("pools", pools(&watched.status));
        checks
    }
}

/// Whether the broker answers, and over which connection.
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

/// Whether the streams are right: looked at again when the connection was lost since, and seldom
/// otherwise.
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
        Ok(Err(LogError::Drift(why))) => why,
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
    };
    Check::bad(why)
}

/// Whether this supervisor has work, or all work is done by others.
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

/// Whether commands reach every pool.
fn pools(status: &Status) -> Check {
    let at_rest = status.pools_at_rest();
    if at_rest.is_empty() {
        let pools = status.presence().pools.len();
        return Check::good(format!("{pools} taking commands"));
    }
    Check::bad(format!("no commands reach {}", at_rest.join(", ")))
}
