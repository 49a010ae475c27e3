//! The server, and what an installation has on it.

use broker::{
    inspect::{Inspector, Server, Stream},
    nats_server::Version,
};
use proto::subject::Subjects;
use runtime::nats::Nats;

use super::monitor::Sync;
use crate::render::findings::Finding;

/// More than this and deadlines are visibly early or late, in milliseconds.
const CLOCK_MS_MAX: i128 = 1_000;

/// That the server was reached.
pub(super) fn reached(nats: &Nats, server: &Server) -> Finding {
    let trip = server.round_trip.as_micros();
    let cluster = server.cluster.as_deref().map(|c| format!(", cluster {c}")).unwrap_or_default();
    Finding::ok("nats", format!("{} ({}{cluster}), answers in {trip} µs", nats.url, server.name))
}

/// Its version.
pub(super) fn version(server: &Server) -> Finding {
    let upgrade = format!("upgrade nats-server to {} or newer", Version::SOUND);
    match server.version.parse::<Version>() {
        Err(error) => Finding::warning("version", error.to_string(), upgrade),
        Ok(version) if version < Version::FLOOR => {
            let found =
                format!("nats-server {version} is too old: {} is the least", Version::FLOOR);
            Finding::bad("version", found, upgrade)
        }
        Ok(version) if version < Version::SOUND => {
            let found = format!("nats-server {version} has known faults in what jobs need");
            Finding::warning("version", found, upgrade)
        }
        Ok(version) => Finding::ok("version", format!("nats-server {version}")),
    }
}

/// The streams of the installation, and whether it is whole. `sync` is how the server writes to the
/// disk, where that is known.
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
                let advice = "give this account the right to look at its streams";
                return (vec![Finding::bad("installation", error.to_string(), advice)], false);
            }
        }
    }
    if there.is_empty() {
        let found = format!("no installation has the prefix {}", nats.prefix);
        let advice = "`callboard setup` makes it, or the first `callboard serve`; or is --prefix another one?";
        return (vec![Finding::warning("installation", found, advice)], false);
    }
    if !missing.is_empty() {
        let found = format!(
            "{} of {} streams are gone: {}",
            missing.len(),
            nats.shards,
            missing.join(", ")
        );
        let advice =
            "restore them from a backup; or nats.shards is not what the installation was made with";
        return (vec![Finding::bad("installation", found, advice)], false);
    }
    let records: u64 = there.iter().map(|stream| stream.messages).sum();
    let bytes: u64 = there.iter().map(|stream| stream.bytes).sum();
    let whole = format!("{} shards, {records} records, {} KiB", there.len(), bytes / 1024);
    (vec![Finding::ok("installation", whole), durability(nats, &there, sync), clock(&there)], true)
}

/// What survives which loss.
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

/// Whose clock is off: time is kept by the server.
fn clock(streams: &[Stream]) -> Finding {
    let Some(ahead) = streams.iter().find_map(|stream| stream.clock_ahead) else {
        return Finding::skipped("clock", "the server does not say what time it is");
    };
    let ms = ahead.as_millis();
    let found = match ms {
        0.. => format!("the server's is {ms} ms ahead of this machine's"),
        _ => format!("the server's is {} ms behind this machine's", -ms),
    };
    if ms.abs() > CLOCK_MS_MAX {
        let advice = "set both clocks by NTP: deadlines are kept by the server's, and shown by this machine's";
        return Finding::warning("clock", found, advice);
    }
    Finding::ok("clock", found)
}
