//! Write probes. A full or failed disk can leave a stream that answers reads and acknowledges no
//! write; nats-server reports that in its log alone, and keeps the state until it is restarted.

use std::time::Duration;

use async_nats::HeaderMap;
use bytes::Bytes;
use proto::{
    id::{JobId, Shard, TimerName},
    subject::Subjects,
};
use tokio::time::Instant;

use super::{
    NatsOptions,
    connect::{ConnectError, open},
    link::{AskError, Link},
    publish, read,
};
use crate::log::LogError;

/// Probes every shard with the rights of the configured user.
///
/// # Errors
/// If the server is unreachable.
pub async fn probe(
    options: &NatsOptions,
    subjects: &Subjects,
) -> Result<Vec<(Shard, Result<(), LogError>)>, ConnectError> {
    let link = open(options, "doctor").await?;
    let shards: Vec<Shard> = subjects.all_shards().collect();
    let each = shards.iter().map(|shard| of_shard(&link, subjects, *shard));
    let probed = futures::future::join_all(each).await;
    link.close().await;
    Ok(shards.into_iter().zip(probed).collect())
}

/// Time limit of a probe.
const PROBE_LIMIT: Duration = Duration::from_secs(3);

/// Writes an empty message that the server removes after a second, on the subject of a timer that
/// never fires.
pub(super) async fn of_shard(
    link: &Link,
    subjects: &Subjects,
    shard: Shard,
) -> Result<(), LogError> {
    let stream = subjects.stream(shard);
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Rollup", "sub");
    headers.insert("Nats-TTL", "1s");
    let subject = probed(subjects, shard);
    let start = Instant::now();
    match link.write_within(PROBE_LIMIT, &subject, headers, Bytes::new()).await {
        Ok(_) => Ok(()),
        Err(AskError::NoResponders(_)) if link.lacks(&stream).await => Err(publish::lost(&stream)),
        // A connection that was lost fails sooner.
        Err(AskError::Lost(why))
            if start.elapsed() >= PROBE_LIMIT && read::end(link, &stream).await.is_ok() =>
        {
            Err(LogError::Unwritable(format!("the stream {stream} answers reads: {why}")))
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the subject of a shard's probes.
fn probed(subjects: &Subjects, shard: Shard) -> String {
    let timer = TimerName::new("_").expect("a plain word is a name");
    (0..)
        .map(|n| JobId::new(format!("probe-{n}")).expect("a word and a number are an id"))
        .find(|job| subjects.shard_of(job) == shard)
        .map(|job| subjects.timer(&job, &timer))
        .expect("the hash reaches every shard")
}
