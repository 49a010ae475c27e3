//! Large values without references.
//!
//! Jobs share values, and references are not counted. Garbage collection therefore lists all values
//! first, then reads every record, and removes the values without a reference. That is safe on a
//! live system, because a record is written within a minute after its value was put. If the value
//! existed and was older than [`RENEWED_AFTER`], it was rewritten, and is not the listed version.
//! If it was younger, it is still younger than [`OLDER_THAN`] when collection begins, or the record
//! was written early enough to be read.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use broker::{
    Broker,
    objects::{self, Kept, ObjectError, RENEWED_AFTER},
};
use futures::TryStreamExt;
use proto::id::JobId;
use tokio::time::Instant;

use super::PurgeError;

/// Age below which a value is never removed.
pub const OLDER_THAN: Duration = RENEWED_AFTER.saturating_mul(2);
/// Time after a listing for which its values may be removed.
pub const PATIENCE: Duration = RENEWED_AFTER;

/// Unreferenced values, in the versions that were listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Garbage {
    /// Values to remove.
    pub values: Vec<Kept>,
    /// Number of values that are kept.
    pub kept: u64,
    until: Option<Instant>,
}

impl Garbage {
    /// Returns the total size of the values to remove, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.values.iter().map(|value| value.bytes).sum()
    }
}

/// Searches for unreferenced values. References of the jobs in `apart_from`, which are about to be
/// removed, do not count. Changes nothing. On a live system `older_than` must be [`OLDER_THAN`].
///
/// # Errors
/// Returns an error if something cannot be read, or if the search takes longer than [`PATIENCE`].
pub async fn garbage(
    broker: &Broker,
    older_than: Duration,
    apart_from: &BTreeSet<&JobId>,
) -> Result<Garbage, PurgeError> {
    let until = Instant::now() + PATIENCE;
    let all = broker.objects.list().await?;
    let count = all.len();
    let old = all.into_iter().filter(|value| value.age > older_than);
    let mut values: BTreeMap<String, Kept> =
        old.map(|value| (value.sha256.clone(), value)).collect();
    for shard in broker.log.subjects().all_shards() {
        if values.is_empty() {
            break;
        }
        let mut mentions = broker.log.object_refs(shard).await?;
        while let Some(page) = mentions.try_next().await? {
            in_time(until)?;
            let counts =
                |job: &Option<JobId>| job.as_ref().is_none_or(|job| !apart_from.contains(job));
            for mention in page.iter().filter(|mention| counts(&mention.job)) {
                for name in &mention.names {
                    values.remove(name);
                }
                if let Some(body) = &mention.body {
                    for name in files(broker, body).await? {
                        values.remove(&name);
                    }
                }
            }
        }
    }
    let values: Vec<Kept> = values.into_values().collect();
    Ok(Garbage { kept: (count - values.len()) as u64, values, until: Some(until) })
}

/// Returns the names in the body of a record that is in the object store: its files are named only there.
async fn files(broker: &Broker, body: &str) -> Result<Vec<String>, PurgeError> {
    match broker.objects.get(body).await {
        Ok(bytes) => Ok(objects::names_in(&bytes)),
        // The body is lost, and with it the names of its files.
        Err(ObjectError::Missing(_)) => Ok(Vec::new()),
        Err(error @ (ObjectError::Unavailable(_) | ObjectError::Full(_))) => Err(error.into()),
    }
}

/// Removes unreferenced values. Values that were rewritten since the listing are kept.
///
/// # Errors
/// Returns an error if a value cannot be removed, or if [`PATIENCE`] is exceeded.
pub async fn collect(broker: &Broker, garbage: &Garbage) -> Result<(), PurgeError> {
    for value in &garbage.values {
        if let Some(until) = garbage.until {
            in_time(until)?;
        }
        broker.objects.remove(value).await?;
    }
    Ok(())
}

fn in_time(until: Instant) -> Result<(), PurgeError> {
    if Instant::now() < until { Ok(()) } else { Err(PurgeError::TooLong) }
}
