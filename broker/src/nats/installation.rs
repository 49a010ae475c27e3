//! The marker of an installation: the settings that it was created with, and the version of its
//! messages. The marker is written last.

use std::collections::BTreeSet;

use jiff::Timestamp;
use proto::{id::Seq, subject::Subjects};
use serde::{Deserialize, Serialize};

use super::words::{Text, drift};
use super::{
    NatsOptions,
    connect::LostBuckets,
    kv::{self, NatsKv},
    link::{AskError, Link},
    mark::{self, UnmarkedUntil},
    read,
    setup::may_make,
};
use crate::{
    kv::{Bucket, Kv, KvError},
    log::LogError,
};

/// Key of the marker in [`Bucket::Installation`].
const MARKER: &str = "created";
/// Version of an installation whose releases [mark](super::mark) every message; those of version 1
/// mark none.
const MARKED: u16 = 2;

/// The buckets of an installation whose marker names none: those of the releases that named none.
const UNNAMED: [Bucket; 10] = [
    Bucket::Installation,
    Bucket::Tools,
    Bucket::Inbox,
    Bucket::Tasks,
    Bucket::Conversations,
    Bucket::Agents,
    Bucket::Links,
    Bucket::Mcp,
    Bucket::Workflows,
    Bucket::Sessions,
];

/// The content of the marker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Marker {
    /// Version of the installation.
    v: u16,
    shards: u16,
    replicas: u8,
    created: Timestamp,
    /// The end of each stream when a release that marks its messages took the installation over.
    #[serde(default, skip_serializing_if = "UnmarkedUntil::is_empty")]
    unmarked_until: UnmarkedUntil,
    /// Names of the buckets that the installation was given. A bucket that a newer release adds is
    /// not lost.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    buckets: BTreeSet<String>,
}

/// The state in which an installation was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// No installation exists.
    Nothing,
    /// Its marker exists and fits the options. The installation was given these buckets.
    Marker(Vec<Bucket>),
    /// Its marker is lost: shards hold records. They may be used, and the marker written again.
    Records,
}

/// Looks for the installation and checks its settings. Prepares the bucket of its marker if the
/// options permit.
///
/// # Errors
/// If the settings differ; if the installation holds messages without a mark that were not accepted;
/// or, with [`LostBuckets::Refuse`], if the marker of an installation with records is lost.
pub(super) async fn find(
    link: &Link,
    kv: &NatsKv,
    subjects: &Subjects,
    options: &NatsOptions,
    lost: LostBuckets,
) -> Result<Found, LogError> {
    kv::ensure(link, subjects, Bucket::Installation, options, may_make(options)).await?;
    if let Some(given) = marked(link, kv, subjects, options).await? {
        return Ok(Found::Marker(given));
    }
    let Some((stream, has_mark)) = first_record(link, subjects).await? else {
        return Ok(Found::Nothing);
    };
    // Another process may have written the marker, and then a record, in between.
    if let Some(given) = marked(link, kv, subjects, options).await? {
        return Ok(Found::Marker(given));
    }
    let name = subjects.bucket(Bucket::Installation.name());
    match lost {
        LostBuckets::Recreate if has_mark => Ok(Found::Records),
        LostBuckets::Recreate => Err(unmarked(subjects)),
        LostBuckets::Refuse => Err(drift(Text::SettingsLost { stream: &stream, bucket: &name })),
    }
}

/// Returns the buckets that the installation was given, if its marker exists and fits the options. The
/// connection then accepts what the marker says of messages without a mark.
async fn marked(
    link: &Link,
    kv: &NatsKv,
    subjects: &Subjects,
    options: &NatsOptions,
) -> Result<Option<Vec<Bucket>>, LogError> {
    let Some((marker, _)) = read_marker(kv).await? else { return Ok(None) };
    marker.check(subjects, options)?;
    if marker.v < MARKED {
        return Err(unmarked(subjects));
    }
    let given = marker.given();
    link.accept_unmarked(marker.unmarked_until);
    Ok(Some(given))
}

/// Reads the marker with its revision; `None` if it does not exist or was written by the server in
/// its own name.
async fn read_marker(kv: &NatsKv) -> Result<Option<(Marker, u64)>, LogError> {
    let found = kv.get_unmarked(Bucket::Installation, MARKER).await;
    let Some((found, has_mark)) = found.map_err(|e| LogError::Unavailable(e.to_string()))? else {
        return Ok(None);
    };
    match serde_json::from_slice::<Marker>(&found.value) {
        Ok(marker) if has_mark || marker.v < MARKED => Ok(Some((marker, found.revision))),
        Err(error) if has_mark => Err(drift(Text::SettingsUnreadable { why: &error })),
        // The server wrote it in its own name.
        Ok(_) | Err(_) => Ok(None),
    }
}

/// Returns the stream of a shard that holds a record, and whether its first one has a mark.
async fn first_record(
    link: &Link,
    subjects: &Subjects,
) -> Result<Option<(String, bool)>, LogError> {
    for shard in subjects.all_shards() {
        let (stream, facts) = (subjects.stream(shard), subjects.door_facts_in(shard));
        match read::next_at_leader(link, &stream, &facts, Seq(0)).await {
            Ok(Some(first)) => return Ok(Some((stream, mark::has_mark(&first.headers)))),
            Ok(None) => {}
            Err(AskError::Refused(refusal)) if refusal.is_missing() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

/// Writes the marker. If another process wrote one first, that one is checked against these
/// options.
pub(super) async fn mark(
    kv: &NatsKv,
    subjects: &Subjects,
    options: &NatsOptions,
) -> Result<(), LogError> {
    match write(kv, &Marker::new(subjects, options), 0).await {
        Ok(_) => {
            let (prefix, shards) = (subjects.prefix(), subjects.shards());
            tracing::info!(prefix, shards, "a new installation was created");
            Ok(())
        }
        Err(KvError::Conflict(_)) => match read_marker(kv).await? {
            Some((theirs, _)) => theirs.check(subjects, options),
            None => Err(LogError::Unavailable("another process is setting up".to_owned())),
        },
        Err(error) => Err(LogError::Unavailable(error.to_string())),
    }
}

/// Writes down that the installation has all buckets. Another process may do so first.
pub(super) async fn note_buckets(kv: &NatsKv) -> Result<(), LogError> {
    let Some((marker, revision)) = read_marker(kv).await? else { return Ok(()) };
    match write(kv, &Marker { buckets: all_buckets(), ..marker }, revision).await {
        Ok(_) | Err(KvError::Conflict(_)) => Ok(()),
        Err(error) => Err(LogError::Unavailable(error.to_string())),
    }
}

fn all_buckets() -> BTreeSet<String> {
    Bucket::ALL.iter().map(|bucket| bucket.name().to_owned()).collect()
}

/// Accepts messages without a mark up to the present end of each stream. Returns `false` if the
/// installation is new or has accepted them before.
pub(super) async fn accept_unmarked(
    link: &Link,
    kv: &NatsKv,
    subjects: &Subjects,
    options: &NatsOptions,
) -> Result<bool, LogError> {
    kv::ensure(link, subjects, Bucket::Installation, options, may_make(options)).await?;
    let (marker, revision) = match read_marker(kv).await? {
        Some((marker, _)) if marker.v >= MARKED => return Ok(false),
        Some(found) => found,
        None if first_record(link, subjects).await?.is_none() => return Ok(false),
        None => (Marker::new(subjects, options), 0),
    };
    marker.check(subjects, options)?;
    let shards = subjects.all_shards().map(|shard| subjects.stream(shard));
    let buckets = Bucket::ALL.iter().map(|bucket| kv.stream(*bucket));
    let mut unmarked_until = UnmarkedUntil::new();
    for stream in shards.chain(buckets) {
        match read::end(link, &stream).await {
            Ok(end) => drop(unmarked_until.insert(stream, end)),
            Err(AskError::Refused(refusal)) if refusal.is_missing() => {}
            Err(error) => return Err(error.into()),
        }
    }
    let marker = Marker { v: MARKED, unmarked_until, ..marker };
    match write(kv, &marker, revision).await {
        Ok(_) => Ok(true),
        Err(error) => Err(LogError::Unavailable(error.to_string())),
    }
}

async fn write(kv: &NatsKv, marker: &Marker, revision: u64) -> Result<u64, KvError> {
    let bytes = serde_json::to_vec(marker).map_err(|e| KvError::Refused(e.to_string()))?;
    kv.update(Bucket::Installation, MARKER, bytes.into(), revision).await
}

fn unmarked(subjects: &Subjects) -> LogError {
    drift(Text::Unmarked { prefix: &subjects.prefix() })
}

impl Marker {
    fn new(subjects: &Subjects, options: &NatsOptions) -> Self {
        Self {
            v: MARKED,
            shards: subjects.shards(),
            replicas: options.replicas,
            created: Timestamp::now(),
            unmarked_until: UnmarkedUntil::new(),
            buckets: all_buckets(),
        }
    }

    /// Returns the buckets that the installation was given.
    fn given(&self) -> Vec<Bucket> {
        if self.buckets.is_empty() {
            return UNNAMED.to_vec();
        }
        let is_given = |bucket: &&Bucket| self.buckets.contains(bucket.name());
        Bucket::ALL.iter().filter(is_given).copied().collect()
    }

    fn check(&self, subjects: &Subjects, options: &NatsOptions) -> Result<(), LogError> {
        let differs = |what: &str, theirs: u16, ours: u16| {
            let (prefix, what) = (&subjects.prefix(), &what);
            drift(Text::CreatedWith { prefix, what, theirs: &theirs, ours: &ours })
        };
        if self.shards != subjects.shards() {
            return Err(differs("shards", self.shards, subjects.shards()));
        }
        if self.replicas != options.replicas {
            return Err(differs("replicas", self.replicas.into(), options.replicas.into()));
        }
        Ok(())
    }
}
