//! Presence as metrics: the load and the shards of this process, and, from one process of the
//! installation, the sums over all.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use opentelemetry::KeyValue;
use proto::{
    decision::DecisionKind,
    id::{Pool, Shard},
    presence::WORKER,
    wire::PoolLoad,
};

use super::{Crew, Status};
use crate::telemetry::{keys, meter};

/// The shard whose owner reports the figures of the whole installation, so that they are reported
/// once.
pub const SPEAKER: Shard = Shard(0);

/// The label of unknown roles and kinds, and of pools beyond the bound.
const OTHER: &str = "other";

/// The roles that have a label of their own.
pub const ROLES: [&str; 7] =
    ["supervisor", "planner", "executor", "tools", "interaction", "door", "gateway"];

/// The maximum number of pools, of all kinds, that have a label of their own.
const POOLS_MAX: usize = 64;

/// Registers the instruments of this process and of the installation.
pub fn observe(status: &Status, crew: &Crew, shards: u16) {
    crate::worker::count_from_zero();
    pools(status);
    owned(status, shards);
    company(status, crew);
}

fn labels((kind, pool): &Names) -> [KeyValue; 2] {
    [KeyValue::new(keys::COMMAND_KIND, *kind), KeyValue::new(keys::POOL, pool.clone())]
}

fn pools(status: &Status) {
    let gauge = |name: &'static str, what: &'static str, value: fn(&PoolLoad) -> u32| {
        let status = status.clone();
        let _ = meter()
            .u64_observable_gauge(name)
            .with_description(what)
            .with_callback(move |seen| {
                for load in status.presence().pools {
                    let names = split(&load);
                    seen.observe(value(&load).into(), &labels(&(names.0, names.1.to_owned())));
                }
            })
            .build();
    };
    gauge("callboard.worker.in_flight", "Commands in progress in this process.", |l| l.in_flight);
    gauge(
        "callboard.worker.capacity",
        "Maximum number of commands in progress in this process.",
        |l| l.capacity,
    );
}

fn owned(status: &Status, shards: u16) {
    let is_supervisor = status.presence().roles.iter().any(|role| role == "supervisor");
    if !is_supervisor {
        return;
    }
    let shown = status.clone();
    let _ = meter()
        .u64_observable_gauge("callboard.shards.owned")
        .with_description("Shards this process owns.")
        .with_callback(move |seen| {
            seen.observe(u64::try_from(shown.presence().shards.len()).unwrap_or_default(), &[]);
        })
        .build();
    let _ = meter()
        .u64_observable_gauge("callboard.shards")
        .with_description("Shards of the installation.")
        .with_callback(move |seen| seen.observe(shards.into(), &[]))
        .build();
}

fn company(status: &Status, crew: &Crew) {
    let known = Arc::new(KnownPools::default());
    let gauge = |name: &'static str, what: &'static str, value: fn(&PoolLoad) -> u32| {
        let (status, crew, known) = (status.clone(), crew.clone(), Arc::clone(&known));
        let _ = meter()
            .u64_observable_gauge(name)
            .with_description(what)
            .with_callback(move |seen| {
                if !speaks(&status) {
                    return;
                }
                let mut sums: BTreeMap<Names, u64> = BTreeMap::new();
                for load in crew.members().values().flat_map(|member| &member.pools) {
                    let sum = sums.entry(known.names(load)).or_default();
                    *sum = sum.saturating_add(value(load).into());
                }
                sums.iter().for_each(|(names, sum)| seen.observe(*sum, &labels(names)));
            })
            .build();
    };
    gauge("callboard.crew.in_flight", "Commands in progress in all workers.", |l| l.in_flight);
    gauge(
        "callboard.crew.capacity",
        "Maximum number of commands in progress in all workers.",
        |l| l.capacity,
    );
    let (status, crew) = (status.clone(), crew.clone());
    let _ = meter()
        .u64_observable_gauge("callboard.crew.workers")
        .with_description("Live processes, by the roles they play.")
        .with_callback(move |seen| {
            if !speaks(&status) {
                return;
            }
            let mut roles: BTreeMap<&'static str, u64> = BTreeMap::new();
            for member in crew.members().values() {
                let played: BTreeSet<_> =
                    member.roles.iter().map(|role| role_label(role)).collect();
                played.into_iter().for_each(|role| *roles.entry(role).or_default() += 1);
            }
            for (role, count) in roles {
                seen.observe(count, &[KeyValue::new(keys::ROLE, role)]);
            }
        })
        .build();
}

/// Returns the label of a role.
fn role_label(role: &str) -> &'static str {
    ROLES.into_iter().chain([WORKER]).find(|known| *known == role).unwrap_or(OTHER)
}

/// A kind of command, and the name of a pool.
type Names = (&'static str, String);

/// Splits the name of a load into its kind and its pool. An unknown kind becomes [`OTHER`].
fn split(load: &PoolLoad) -> (&'static str, &str) {
    let (kind, pool) = load.pool.split_once('.').unwrap_or((load.pool.as_str(), ""));
    (kind.parse().map_or(OTHER, DecisionKind::as_str), pool)
}

/// The pools that have a label of their own. A process may announce made-up pools, and each label
/// is a time series, so their number is bounded for the life of this process.
#[derive(Debug, Default)]
struct KnownPools(Mutex<BTreeSet<Names>>);

impl KnownPools {
    /// Returns the labels of a load.
    fn names(&self, load: &PoolLoad) -> Names {
        let (kind, pool) = split(load);
        let other = (kind, OTHER.to_owned());
        if Pool::new(pool).is_err() {
            return other;
        }
        let names = (kind, pool.to_owned());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_told = known.contains(&names) || known.len() < POOLS_MAX;
        if is_told {
            known.insert(names.clone());
        }
        if is_told { names } else { other }
    }
}

fn speaks(status: &Status) -> bool {
    status.presence().shards.contains(&SPEAKER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(pool: &str) -> PoolLoad {
        PoolLoad { pool: pool.to_owned(), in_flight: 1, capacity: 2 }
    }

    #[test]
    fn what_anybody_makes_up_is_counted_as_one() {
        let known = KnownPools::default();
        let names = |pool: &str| known.names(&load(pool));
        assert_eq!(names("call.builtin"), ("call", "builtin".to_owned()));
        for made_up in ["dance.floor", "call", "", "call.with space", "call.ÿ"] {
            let (kind, pool) = names(made_up);
            assert!(kind == OTHER || pool == OTHER, "{made_up}: {kind} {pool}");
        }
        let series: BTreeSet<_> = (0..1_000).map(|n| names(&format!("call.p{n}"))).collect();
        assert!(series.len() <= POOLS_MAX + 1, "{}", series.len());
        // Pools with a label of their own keep it.
        assert_eq!(names("call.builtin").1, "builtin");
        assert_eq!(names("call.p999").1, OTHER);
        assert_eq!((role_label("tools"), role_label("made-up")), ("tools", OTHER));
    }
}
