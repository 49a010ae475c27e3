//! Findings about the server and the installation's streams.

use broker::{
    inspect::{Inspector, Server, Stream},
    nats_server::Version,
};
use proto::subject::Subjects;
use runtime::nats::Nats;

use super::monitor::Sync;
use crate::render::findings::Finding;

/// Largest clock difference in milliseconds; above it deadlines are visibly early or late.
const CLOCK_MS_MAX: i128 = 1_000;

pub(super) fn reached(nats: &Nats, server: &Server) -> Finding {
    let trip = server.round_trip.as_micros();
    let cluster = server.cluster.as_deref().map(|c| format!(", cluster {c}")).unwrap_or_default();
    Finding::ok("nats", format!("{} ({}{cluster}), answers in {trip} µs", nats.url, server.name))
}

pub(super) fn version(server: &Server) -> Finding {
    let upgrade = format!("upgrade nats-server to {} or newer", Version::SOUND);
    match server.version.parse::<Version>() {
        Err(error) => Finding::warning("version", error.to_string(), upgrade),
        Ok(version) if version < Version::FLOOR => {
            let found = format!(
                "nats-server {version} is too old: Callboard needs {} or newer",
                Version::FLOOR
            );
            Finding::bad("version", found, upgrade)
        }
        Ok(version) if version < Version::SOUND => {
            let found = format!("nats-server {version} has known faults in features that jobs use");
            Finding::warning("version", found, upgrade)
        }
        Ok(version) => Finding::ok("version", format!("nats-server {version}")),
    }
}

/// Reports the streams, and returns `true` if the installation is complete. `sync` is the server's
/// flush policy, if known.
pub(super) async fn streams(
    inspector: &Inspector,
    nats: &Nats,
    subjects: &Subjects,
    sync: Option<Sync>,
) -> (Vec<Finding>, bool) {
    let mut there: Vec<Stream> = Vec::new();
    let mut missing: Vec<String> = Vec::new();
    for shard in subjects.all_shards() {
        let name = subjects.stream(shard);
        match inspector.stream(&name).await {
            Ok(Some(stream)) => there.push(stream),
            Ok(None) => missing.push(name),
            Err(error) => {
                let advice = "give this account the right to read its streams";
                return (vec![Finding::bad("installation", error.to_string(), advice)], false);
            }
        }
    }
    if there.is_empty() {
        let found = format!("no installation has the prefix {}", nats.prefix);
        let advice =
            "create it with `callboard setup` or the first `callboard serve`, or correct --prefix";
        return (vec![Finding::warning("installation", found, advice)], false);
    }
    if !missing.is_empty() {
        let found = format!(
            "{} of {} streams are missing: {}",
            missing.len(),
            nats.shards,
            missing.join(", ")
        );
        let advice = "restore them from a backup; or set nats.shards to the number of the existing installation";
        return (vec![Finding::bad("installation", found, advice)], false);
    }
    let records: u64 = there.iter().map(|stream| stream.messages).sum();
    let bytes: u64 = there.iter().map(|stream| stream.bytes).sum();
    let whole = format!("{} shards, {records} records, {} KiB", there.len(), bytes / 1024);
    (vec![Finding::ok("installation", whole), durability(nats, &there, sync), clock(&there)], true)
}

/// Reports which failures the stored records survive.
fn durability(nats: &Nats, streams: &[Stream], sync: Option<Sync>) -> Finding {
    let least = streams.iter().map(|stream| stream.replicas).min().unwrap_or_default();
    let in_memory = streams.iter().any(|stream| stream.storage != "file");
    if in_memory {
        let advice = "set the installation up again; streams must be kept in files";
        return Finding::bad("durability", "a stream is kept in memory only", advice);
    }
    if least < u64::from(nats.replicas) {
        let found =
            format!("{least} copies of every record, and nats.replicas asks for {}", nats.replicas);
        return Finding::bad(
            "durability",
            found,
            "nats stream edit --replicas, one stream after the other",
        );
    }
    let (synced, is_synced) = match sync {
        Some(Sync::Always) => ("each on the disk before it is acknowledged".to_owned(), true),
        Some(Sync::Every(late)) => {
            (format!("on the disk up to {late:?} after it is acknowledged"), false)
        }
        None => (
            "on the disk up to 2 minutes after it is acknowledged, unless nats-server's sync_interval says otherwise (--monitor http://HOST:8222 shows it)".to_owned(),
            false,
        ),
    };
    match (least, is_synced) {
        (0 | 1, false) => Finding::warning(
            "durability",
            format!(
                "one copy of every record, {synced}: a lost disk loses jobs, and a power failure the last of them"
            ),
            "for production: three servers and nats.replicas = 3, or at least sync_interval: always",
        ),
        (0 | 1, true) => Finding::warning(
            "durability",
            format!("one copy of every record, {synced}: a lost disk loses jobs"),
            "for production: three servers and nats.replicas = 3",
        ),
        (copies, _) => {
            Finding::ok("durability", format!("{copies} copies of every record, {synced}"))
        }
    }
}

/// Reports the clock difference to the server, whose clock defines all times.
fn clock(streams: &[Stream]) -> Finding {
    let Some(ahead) = streams.iter().find_map(|stream| stream.clock_ahead) else {
        return Finding::skipped("clock", "the server does not report its time");
    };
    let ms = ahead.as_millis();
    let found = match ms {
        0.. => format!("the server's is {ms} ms ahead of this machine's"),
        _ => format!("the server's is {} ms behind this machine's", -ms),
    };
    if ms.abs() > CLOCK_MS_MAX {
        let advice = "synchronise both clocks by NTP: the server's clock decides deadlines, and this machine's clock shows them";
        return Finding::warning("clock", found, advice);
    }
    Finding::ok("clock", found)
}
