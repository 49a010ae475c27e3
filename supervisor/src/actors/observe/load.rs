//! The load of a shard, polled by its owner: queue depths, sizes, and whether it stores records.

use std::{sync::Arc, time::Duration};

use broker::log::{Log, LogError, ShardLoad};
use jiff::Timestamp;
use opentelemetry::KeyValue;
use proto::id::{Seq, Shard};
use runtime::{
    presence::{SPEAKER, Status},
    telemetry::{self, keys},
};
use tokio::time::Instant;

use super::{Census, census};

/// Interval of the poll, and of the probes of a shard that stores nothing.
const EVERY: Duration = Duration::from_secs(5);

/// Polls the load forever. If a poll fails, the last values remain. A shard that stores records is
/// probed once per `probe_interval`. Calls `went_back` when the shard has lost its last records.
pub(in crate::actors) async fn run(
    log: Arc<dyn Log>,
    shard: Shard,
    census: Arc<Census>,
    status: Status,
    probe_interval: Duration,
    went_back: impl Fn(),
) {
    // All shards start at the same moment; the random delay spreads their polls.
    let mut pause = EVERY.mul_f64(fastrand::f64() / 5.0);
    let mut probe_at = Instant::now() + probe_interval;
    let mut end = Seq(0);
    loop {
        tokio::time::sleep(pause).await;
        pause = EVERY;
        match log.load(shard).await {
            Ok(load) => {
                if load.end < end {
                    tracing::error!(%shard, was = %end, is = %load.end, "the shard lost its last records: restore a backup, or let the jobs continue from what is left");
                    went_back();
                }
                end = load.end;
                census.set_load(load);
            }
            Err(error) => tracing::debug!(%shard, %error, "the shard's load could not be read"),
        }
        if probe_at <= Instant::now() {
            let stores = probe(&*log, shard, &census, &status).await;
            probe_at = Instant::now() + if stores { probe_interval } else { EVERY };
        }
        if shard == SPEAKER {
            match log.storage().await {
                Ok(storage) => census.set_storage(storage),
                Err(error) => tracing::debug!(%error, "the storage figures could not be read"),
            }
        }
    }
}

/// Probes the shard with a write, and returns whether the record was stored. An unreachable broker
/// is reported elsewhere.
async fn probe(log: &dyn Log, shard: Shard, census: &Census, status: &Status) -> bool {
    let why = match log.probe(shard).await {
        Ok(()) => None,
        Err(error @ (LogError::Unwritable(_) | LogError::Full(_))) => Some(error.to_string()),
        Err(error) => {
            tracing::debug!(%shard, %error, "the shard could not be probed");
            return false;
        }
    };
    let stores = why.is_none();
    census.set_writable(stores);
    match (status.set_unwritable(shard, why.clone()), why) {
        (false, Some(error)) => {
            tracing::error!(%shard, error, "the shard stores no records: free disk space, then restart nats-server, which keeps the error until then");
        }
        (true, None) => tracing::info!(%shard, "the shard stores records again"),
        (true, Some(_)) | (false, None) => {}
    }
    stores
}

/// Returns the seconds since a server time, by this machine's clock; 0 for `None` or a time in the
/// future.
pub(super) fn age(since: Option<Timestamp>) -> f64 {
    since.map_or(0.0, |since| Timestamp::now().duration_since(since).as_secs_f64().max(0.0))
}

/// Registers the instruments, which live as long as the process.
pub(super) fn observe() {
    let meter = telemetry::meter();
    let queue = |shard: &KeyValue, queue: &broker::log::QueueLoad| {
        [
            KeyValue::new(keys::COMMAND_KIND, queue.kind.as_str()),
            KeyValue::new(keys::POOL, queue.pool.as_str().to_owned()),
            shard.clone(),
        ]
    };
    let _ = meter
        .u64_observable_gauge("callboard.queue.messages")
        .with_description("Commands that wait for a worker or are in progress.")
        .with_callback(move |seen| {
            census::each_load(|shard, load, _| {
                for one in &load.queues {
                    let [kind, pool, shard] = queue(&shard, one);
                    let state = |state| KeyValue::new(keys::QUEUE_STATE, state);
                    let waits = [kind, pool, shard, state("pending")];
                    seen.observe(one.depth.pending, &waits);
                    let [kind, pool, shard, _] = waits;
                    seen.observe(one.depth.in_flight, &[kind, pool, shard, state("in_flight")]);
                }
            });
        })
        .build();
    let _ = meter
        .f64_observable_gauge("callboard.queue.oldest.age")
        .with_unit("s")
        .with_description("Age of the oldest unfinished command.")
        .with_callback(move |seen| {
            census::each_load(|shard, load, _| {
                load.queues.iter().for_each(|q| seen.observe(age(q.oldest), &queue(&shard, q)));
            });
        })
        .build();
    let _ = meter
        .u64_observable_gauge("callboard.shard.writable")
        .with_description("1 if a shard stores records, 0 if it answers reads alone.")
        .with_callback(|seen| {
            census::each_writable(|shard, is_writable| {
                seen.observe(u64::from(is_writable), &[shard]);
            });
        })
        .build();
    size("callboard.log.messages", "", "Records in a shard's log.", |load| load.records);
    size("callboard.log.size", "By", "Size of a shard's log.", |load| load.bytes);
    storage();
}

fn size(
    name: &'static str,
    unit: &'static str,
    what: &'static str,
    value: impl Fn(&ShardLoad) -> u64 + Send + Sync + 'static,
) {
    let _ = telemetry::meter()
        .u64_observable_gauge(name)
        .with_unit(unit)
        .with_description(what)
        .with_callback(move |seen| {
            census::each_load(|shard, load, _| seen.observe(value(load), &[shard]));
        })
        .build();
}

fn storage() {
    let meter = telemetry::meter();
    let _ = meter
        .u64_observable_gauge("callboard.storage.used")
        .with_unit("By")
        .with_description("Bytes that the account stores on the disks of NATS.")
        .with_callback(|seen| {
            census::each_load(|_, _, storage| {
                storage.iter().for_each(|storage| seen.observe(storage.used, &[]));
            });
        })
        .build();
    let _ = meter
        .u64_observable_gauge("callboard.storage.limit")
        .with_unit("By")
        .with_description("Bytes that the account may store on the disks of NATS.")
        .with_callback(|seen| {
            census::each_load(|_, _, storage| {
                let limit = storage.and_then(|storage| storage.limit);
                limit.iter().for_each(|limit| seen.observe(*limit, &[]));
            });
        })
        .build();
}
