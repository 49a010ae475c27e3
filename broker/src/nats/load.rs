//! The size of a shard and of its queues, in a few requests to JetStream, whatever the number of
//! records.

use std::collections::{BTreeMap, BTreeSet};

use proto::{
    decision::{DecisionKind, pools},
    fact::Source,
    id::{JobId, Pool, Seq, Shard},
    record::Record,
};
use serde::Deserialize;
use serde_json::json;

use super::{
    entry,
    log::NatsLog,
    read::{self, Stored},
    scan::ConsumerInfo,
};
use crate::log::{Depth, LogError, QueueLoad, ShardLoad, Storage};

/// Number of consumers, or messages, in one page of the server.
const PAGE: usize = 256;

#[derive(Deserialize)]
struct StreamInfo {
    state: StreamState,
}

#[derive(Deserialize)]
struct StreamState {
    messages: u64,
    bytes: u64,
    last_seq: u64,
}

#[derive(Deserialize)]
struct Consumers {
    total: usize,
    #[serde(default)]
    consumers: Option<Vec<Named>>,
}

#[derive(Deserialize)]
pub(super) struct Named {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) info: ConsumerInfo,
}

#[derive(Deserialize)]
struct Account {
    storage: u64,
    limits: Limits,
}

#[derive(Deserialize)]
struct Limits {
    max_storage: i64,
}

/// Reads the size of one shard.
pub(super) async fn of_shard(log: &NatsLog, shard: Shard) -> Result<ShardLoad, LogError> {
    let stream = log.subjects.stream(shard);
    let StreamInfo { state } = log.link.ask(&format!("STREAM.INFO.{stream}"), &json!({})).await?;
    let mut queues = Vec::new();
    for consumer in consumers(log, &stream).await? {
        let Some((kind, pool)) = queue_of(&consumer.name) else { continue };
        let ConsumerInfo { num_pending, num_ack_pending, ack_floor, .. } = consumer.info;
        let depth = Depth { pending: num_pending, in_flight: num_ack_pending };
        let oldest = if depth == Depth::default() {
            None
        } else {
            let filter = log.subjects.commands_in(shard, kind, &pool);
            let after = Seq(ack_floor.stream_seq);
            let page = read::page(&log.link, &stream, &filter, after, 1).await?;
            page.messages.first().map(|message| message.time)
        };
        queues.push(QueueLoad { kind, pool, depth, oldest });
    }
    let StreamState { messages, bytes, last_seq } = state;
    Ok(ShardLoad { records: messages, bytes, end: Seq(last_seq), queues })
}

/// Lists every consumer of a stream with its state.
pub(super) async fn consumers(log: &NatsLog, stream: &str) -> Result<Vec<Named>, LogError> {
    let mut all: Vec<Named> = Vec::new();
    loop {
        let ask = json!({ "offset": all.len() });
        let Consumers { total, consumers } =
            log.link.ask(&format!("CONSUMER.LIST.{stream}"), &ask).await?;
        let some = consumers.unwrap_or_default();
        let last = some.len() < PAGE;
        all.extend(some);
        if last || all.len() >= total {
            return Ok(all);
        }
    }
}

/// Parses the name of a command consumer into kind and pool; `None` for other consumers.
pub(super) fn queue_of(name: &str) -> Option<(DecisionKind, Pool)> {
    let (kind, pool) = name.split_once('-')?;
    Some((kind.parse().ok()?, Pool::new(pool).ok()?))
}

/// Number of submissions read at a time, given the largest size of a record.
const DOORS: usize = 50;

/// Returns which of these jobs of one shard have ended, by the state of any replica.
pub(super) async fn finished_among(
    log: &NatsLog,
    jobs: &[JobId],
) -> Result<BTreeSet<JobId>, LogError> {
    let Some(first) = jobs.first() else { return Ok(BTreeSet::new()) };
    let stream = log.subjects.stream(log.subjects.shard_of(first));
    let finish = |job| log.subjects.decision(job, DecisionKind::Finish, &pools::nobody());
    let subjects: Vec<String> = jobs.iter().map(finish).collect();
    let request = json!({ "multi_last": subjects, "batch": jobs.len() });
    let page = read::ask(&log.link, &stream, &request).await?;
    let mut ended = BTreeMap::new();
    for last in &page.messages {
        let Ok(place) = log.subjects.parse(&last.subject) else { continue };
        if entry::is_record(last, &log.subjects) || is_below(log, &stream, last).await? {
            ended.insert(place.job, last.seq);
        }
    }
    // A later fact from the door may have rolled the job back: only its log can tell. The same
    // holds if decisions follow an end: a supervisor stored that end before it knew of the
    // rollback.
    let jobs: Vec<JobId> = ended.keys().cloned().collect();
    let mut heard = Vec::new();
    for some in jobs.chunks(DOORS) {
        for last in last_said(log, &stream, some).await? {
            if ended.get(&last.job).is_some_and(|finish| last.seq > *finish) {
                ended.remove(&last.job);
            } else if !last.is_submission {
                heard.push(last.job);
            }
        }
    }
    for (job, decided) in decided(log, &stream, &heard).await? {
        if ended.get(&job).is_some_and(|finish| decided > *finish) {
            ended.remove(&job);
        }
    }
    Ok(ended.into_keys().collect())
}

/// The last fact from the door in a job's log.
struct LastSaid {
    job: JobId,
    seq: Seq,
    is_submission: bool,
}

/// Reads the positions of each job's last decision of every kind.
async fn decided(
    log: &NatsLog,
    stream: &str,
    jobs: &[JobId],
) -> Result<Vec<(JobId, Seq)>, LogError> {
    let mut all = Vec::new();
    for job in jobs {
        let request = json!({ "multi_last": [log.subjects.decisions_of(job)], "batch": DOORS });
        let page = read::ask(&log.link, stream, &request).await?;
        all.extend(page.messages.iter().map(|last| (job.clone(), last.seq)));
    }
    Ok(all)
}

/// Reads the positions of each job's last fact from the door.
async fn last_said(log: &NatsLog, stream: &str, jobs: &[JobId]) -> Result<Vec<LastSaid>, LogError> {
    let subjects: Vec<String> =
        jobs.iter().map(|job| log.subjects.fact(job, &Source::Door)).collect();
    let request = json!({ "multi_last": subjects, "batch": jobs.len() });
    let page = read::ask(&log.link, stream, &request).await?;
    let said = |last: &Stored| {
        let job = log.subjects.parse(&last.subject).ok()?.job;
        let kind = Record::from_slice(&last.payload).map(|record| record.kind);
        let is_submission = kind.is_ok_and(|kind| kind == "submitted");
        Some(LastSaid { job, seq: last.seq, is_submission })
    };
    Ok(page.messages.iter().filter_map(said).collect())
}

/// `true` if a genuine record precedes a forged message on the same subject.
async fn is_below(log: &NatsLog, stream: &str, last: &Stored) -> Result<bool, LogError> {
    let mut after = Seq(0);
    loop {
        let page = read::page(&log.link, stream, &last.subject, after, PAGE).await?;
        if page.messages.iter().any(|message| entry::is_record(message, &log.subjects)) {
            return Ok(true);
        }
        match page.messages.last() {
            Some(message) if page.more => after = message.seq,
            Some(_) | None => return Ok(false),
        }
    }
}

/// Reads the disk usage of the account.
pub(super) async fn storage(log: &NatsLog) -> Result<Storage, LogError> {
    let Account { storage, limits } = log.link.ask("INFO", &json!({})).await?;
    Ok(Storage { used: storage, limit: u64::try_from(limits.max_storage).ok().filter(|l| *l > 0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_consumer_is_known_by_its_name() {
        let of = |name| queue_of(name).map(|(kind, pool)| (kind, pool.as_str().to_owned()));
        assert_eq!(of("call-builtin"), Some((DecisionKind::Call, "builtin".to_owned())));
        assert_eq!(of("call-my-tools"), Some((DecisionKind::Call, "my-tools".to_owned())));
        assert_eq!((of("facts"), of("strange-thing"), of("call-")), (None, None, None));
    }
}
