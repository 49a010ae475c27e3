//! Findings about the server and the installation's streams.

use broker::{
    inspect::{Inspector, Server, Stream},
    nats_server::Version,
};
use proto::{lang::Words, subject::Subjects};
use runtime::nats::Nats;

use super::{monitor::Sync, words::Text};
use crate::render::findings::Finding;

/// Largest clock difference in milliseconds; above it deadlines are visibly early or late.
const CLOCK_MS_MAX: i128 = 1_000;

pub(super) fn reached(nats: &Nats, server: &Server) -> Finding {
    let (url, micros) = (&nats.url, &server.round_trip.as_micros());
    let (server, cluster) = (&server.name, &server.cluster);
    let answers = match cluster {
        None => Text::Answers { url, server, micros },
        Some(cluster) => Text::AnswersOfCluster { url, server, cluster, micros },
    };
    Finding::ok("nats", answers)
}

pub(super) fn version(server: &Server) -> Finding {
    let upgrade = Text::UpgradeServer { version: &Version::SOUND };
    match server.version.parse::<Version>() {
        Err(error) => Finding::warning("version", error.to_string(), upgrade),
        Ok(version) if version < Version::FLOOR => {
            let found = Text::VersionTooOld { version: &version, needed: &Version::FLOOR };
            Finding::bad("version", found, upgrade)
        }
        Ok(version) if version < Version::SOUND => {
            Finding::warning("version", Text::VersionFaulty { version: &version }, upgrade)
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
                let found = Finding::bad("installation", error.to_string(), Text::ReadRight);
                return (vec![found], false);
            }
        }
    }
    if there.is_empty() {
        let found = Text::NothingInstalled { prefix: &nats.prefix };
        return (vec![Finding::warning("installation", found, Text::Install)], false);
    }
    if !missing.is_empty() {
        let names = &missing.join(", ");
        let found = Text::StreamsMissing { missing: &missing.len(), all: &nats.shards, names };
        return (vec![Finding::bad("installation", found, Text::RestoreStreams)], false);
    }
    let records: u64 = there.iter().map(|stream| stream.messages).sum();
    let bytes: u64 = there.iter().map(|stream| stream.bytes).sum();
    let (shards, kib) = (&there.len(), &(bytes / 1024));
    let whole = Text::Installation { shards, records: &records, kib };
    (vec![Finding::ok("installation", whole), durability(nats, &there, sync), clock(&there)], true)
}

/// Reports which failures the stored records survive.
fn durability(nats: &Nats, streams: &[Stream], sync: Option<Sync>) -> Finding {
    let least = streams.iter().map(|stream| stream.replicas).min().unwrap_or_default();
    let in_memory = streams.iter().any(|stream| stream.storage != "file");
    if in_memory {
        return Finding::bad("durability", Text::InMemory, Text::KeepInFiles);
    }
    if least < u64::from(nats.replicas) {
        let found = Text::FewCopies { copies: &least, wanted: &nats.replicas };
        return Finding::bad("durability", found, Text::AddCopies);
    }
    let is_synced = sync == Some(Sync::Always);
    let found = Words::new(|language| {
        let synced = match &sync {
            Some(Sync::Always) => Text::SyncedAlways,
            Some(Sync::Every(late)) => Text::SyncedEvery { late },
            None => Text::SyncedUnknown,
        };
        let synced = &synced.text(language);
        let found = match (&least, is_synced) {
            (0 | 1, false) => Text::OneCopyLate { synced },
            (0 | 1, true) => Text::OneCopy { synced },
            (copies, _) => Text::Copies { copies, synced },
        };
        found.text(language)
    });
    match (least, is_synced) {
        (0 | 1, false) => Finding::warning("durability", found, Text::ThreeServersOrSync),
        (0 | 1, true) => Finding::warning("durability", found, Text::ThreeServers),
        (_, _) => Finding::ok("durability", found),
    }
}

/// Reports the clock difference to the server, whose clock defines all times.
fn clock(streams: &[Stream]) -> Finding {
    let Some(ahead) = streams.iter().find_map(|stream| stream.clock_ahead) else {
        return Finding::skipped("clock", Text::NoClock);
    };
    let ms = ahead.as_millis();
    let found = match ms {
        0.. => Text::ClockAhead { ms: &ms },
        _ => Text::ClockBehind { ms: &-ms },
    };
    if ms.abs() > CLOCK_MS_MAX {
        return Finding::warning("clock", found, Text::Synchronise);
    }
    Finding::ok("clock", found)
}
