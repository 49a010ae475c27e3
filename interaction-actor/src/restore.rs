//! The restoration of the inbox from the logs. A key of the bucket names the shards of which the open
//! questions were not entered yet; a bucket that was lost and created again lacks it. It never
//! removes an entry.

use std::time::Duration;

use broker::{
    Broker,
    kv::{self, Bucket, INBOX_COMPLETE},
    log::LogError,
};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use machine::dead_letters;
use proto::{
    door::InboxEntry,
    id::{JobId, Seq, Shard},
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use serde::{Deserialize, Serialize};
use tokio::time::MissedTickBehavior;
use tokio_util::task::AbortOnDropHandle;

use crate::work::InboxKeeper;
pub use crate::work::NotKept;

/// Interval at which the bucket is checked.
const CHECK_EVERY: Duration = Duration::from_secs(30);
/// Jobs per page.
const PAGE: usize = 100;
/// Jobs that are read concurrently.
const AT_A_TIME: usize = 8;

/// The actor that checks the inbox at intervals and restores it. It never finishes by itself.
#[derive(Debug)]
pub struct InboxRestorer;

impl Actor for InboxRestorer {
    type Msg = ();
    type State = AbortOnDropHandle<()>;
    type Arguments = Broker;

    async fn pre_start(
        &self,
        _: ActorRef<()>,
        broker: Broker,
    ) -> Result<Self::State, ActorProcessingErr> {
        let task = async move {
            let mut checks = tokio::time::interval(CHECK_EVERY);
            checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                checks.tick().await;
                if let Err(error) = restore(&broker).await {
                    tracing::warn!(%error, "the inbox could not be restored; retrying");
                }
            }
        };
        Ok(AbortOnDropHandle::new(tokio::spawn(task)))
    }
}

/// Enters every open question that the inbox lacks, unless all were entered since its bucket was
/// created.
///
/// # Errors
/// If the bucket or a log cannot be read. A later call enters the rest.
pub async fn restore(broker: &Broker) -> Result<(), NotKept> {
    let all = || broker.log.subjects().all_shards().collect();
    let before = broker.kv.get(Bucket::Inbox, INBOX_COMPLETE).await?;
    let Restored { missing: shards } = match &before {
        Some(found) => {
            serde_json::from_slice(&found.value).unwrap_or_else(|_| Restored { missing: all() })
        }
        None => Restored { missing: all() },
    };
    if shards.is_empty() {
        return Ok(());
    }
    let (mut entered, mut missing, mut lost) = (0, Vec::new(), None);
    for shard in shards {
        match restore_shard(broker, shard).await {
            Ok(of_shard) => entered += of_shard,
            // The questions of other shards must not wait until this one is back.
            Err(error @ NotKept::Log(LogError::Lost(_))) => {
                missing.push(shard);
                lost = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    if entered > 0 {
        tracing::warn!(entered, "questions that the inbox lacked were read from the logs");
    }
    let state = serde_json::to_vec(&Restored { missing }).expect("numbers are JSON");
    if before.as_ref().is_none_or(|before| before.value != state) {
        // A bucket that was created again meanwhile is not complete.
        let revision = before.map_or(0, |before| before.revision);
        broker.kv.update(Bucket::Inbox, INBOX_COMPLETE, Bytes::from(state), revision).await?;
    }
    lost.map_or(Ok(()), Err)
}

/// The value of [`INBOX_COMPLETE`]. That of earlier releases, `{}`, names no shard.
#[derive(Debug, Serialize, Deserialize)]
struct Restored {
    /// The lost shards of which no question was entered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    missing: Vec<Shard>,
}

/// Enters the open questions of a shard's jobs, and returns their number.
async fn restore_shard(broker: &Broker, shard: Shard) -> Result<usize, NotKept> {
    let (mut entered, mut before) = (0, None);
    loop {
        let page = broker.log.submissions(shard, before, PAGE).await?;
        let Some(oldest) = page.last() else { return Ok(entered) };
        before = Some(oldest.seq);
        let jobs: Vec<JobId> = page.into_iter().map(|entry| entry.job).collect();
        let ended = broker.log.finished_among(&jobs).await?;
        let open = jobs.into_iter().filter(|job| !ended.contains(job));
        let each = stream::iter(open).map(|job| restore_job(broker, job));
        let each: Vec<usize> = each.buffer_unordered(AT_A_TIME).try_collect().await?;
        entered += each.iter().sum::<usize>();
    }
}

async fn restore_job(broker: &Broker, job: JobId) -> Result<usize, NotKept> {
    let entries = broker.log.read(&job, Seq(0)).await?;
    // A job whose log breaks the fold waits for an operator, not for an answer.
    let Ok(folded) = dead_letters::fold(&job, &entries) else { return Ok(0) };
    let keeper = InboxKeeper { broker: broker.clone() };
    let mut entered = 0;
    for ask in folded.waits().questions {
        let entry = broker.kv.get(Bucket::Inbox, &kv::inbox_key(&job, &ask)).await?;
        if entry.is_none_or(|entry| InboxEntry::read(&job, &ask, &entry.value).is_err()) {
            keeper.put(&job, &ask).await?;
            entered += 1;
        }
    }
    Ok(entered)
}
