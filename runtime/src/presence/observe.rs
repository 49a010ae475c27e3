//! Presence as metrics: what this process has in hand and owns, and, from one process of the whole
//! company, who is there at all.

use std::collections::BTreeMap;

use opentelemetry::KeyValue;
use proto::{id::Shard, wire::PoolLoad};

use super::{Crew, Status};
use crate::telemetry::{keys, meter};

/// The shard whose owner speaks for everybody, so that figures about the whole are given once.
pub const SPEAKER: Shard = Shard(0);

/// Shows this process and the company from now on, until the process ends.
pub fn observe(status: &Status, crew: &Crew, shards: u16) {
    crate::worker::count_from_zero();
    pools(status);
    owned(status, shards);
    company(status, crew);
}

fn labels(load: &PoolLoad) -> [KeyValue; 2] {
    let (kind, pool) = load.pool.split_once('.').unwrap_or((load.pool.as_str(), ""));
    [KeyValue::new(keys::COMMAND_KIND, kind.to_owned()), KeyValue::new(keys::POOL, pool.to_owned())]
}

fn pools(status: &Status) {
    let gauge = |name: &'static str, what: &'static str, value: fn(&PoolLoad) -> u32| {
        let status = status.clone();
        let _ = meter()
            .u64_observable_gauge(name)
            .with_description(what)
            .with_callback(move |seen| {
                for load in status.presence().pools {
                    seen.observe(value(&load).into(), &labels(&load));
                }
            })
            .build();
    };
    gauge("callboard.worker.in_flight", "Commands this process has in hand.", |l| l.in_flight);
    gauge("callboard.worker.capacity", "Commands this process takes at most.", |l| l.capacity);
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
    let gauge = |name: &'static str, what: &'static str, value: fn(&PoolLoad) -> u32| {
        let (status, crew) = (status.clone(), crew.clone());
        let _ = meter()
            .u64_observable_gauge(name)
            .with_description(what)
            .with_callback(move |seen| {
                if !speaks(&status) {
                    return;
                }
                let mut sums: BTreeMap<String, (PoolLoad, u64)> = BTreeMap::new();
                for load in crew.members().values().flat_map(|member| &member.pools) {
                    let sum = sums.entry(load.pool.clone()).or_insert((load.clone(), 0));
                    sum.1 += u64::from(value(load));
                }
                sums.values().for_each(|(load, sum)| seen.observe(*sum, &labels(load)));
            })
            .build();
    };
    gauge("callboard.crew.in_flight", "Commands all workers have in hand.", |l| l.in_flight);
    gauge("callboard.crew.capacity", "Commands all workers take at most.", |l| l.capacity);
    let (status, crew) = (status.clone(), crew.clone());
    let _ = meter()
        .u64_observable_gauge("callboard.crew.workers")
        .with_description("Live processes, by the roles they play.")
        .with_callback(move |seen| {
            if !speaks(&status) {
                return;
            }
            let mut roles: BTreeMap<String, u64> = BTreeMap::new();
            for role in crew.members().values().flat_map(|member| &member.roles) {
                *roles.entry(role.clone()).or_default() += 1;
            }
            for (role, count) in roles {
                seen.observe(count, &[KeyValue::new(keys::ROLE, role)]);
            }
        })
        .build();
}

fn speaks(status: &Status) -> bool {
    status.presence().shards.contains(&SPEAKER)
}
