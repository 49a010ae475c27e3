//! Scans of a shard: its newest submissions, and the jobs with unacknowledged facts. The cost of
//! both is independent of the number of jobs.

use std::collections::BTreeSet;

use proto::{
    entry::Entry,
    id::{JobId, Seq, Shard},
    subject::{Family, Subjects},
};
use serde::Deserialize;
use serde_json::json;

use super::{
    link::{AskError, Link},
    log::NatsLog,
    read::{self, Page, Stored},
};
use crate::log::LogError;

/// Number of positions in the first step back; each further step doubles it.
const WINDOW: u64 = 2_000;
/// Number of facts in one page. The server compares the subject of every message up to
/// the last one of a page, and serves no other request of the connection meanwhile.
const PAGE: usize = 100;

/// State of a consumer, as the server reports it.
#[derive(Debug, Deserialize)]
pub(super) struct ConsumerInfo {
    pub(super) num_pending: u64,
    pub(super) num_ack_pending: u64,
    pub(super) ack_floor: Position,
    pub(super) delivered: Position,
    #[serde(default)]
    pub(super) num_redelivered: u64,
    /// `true` while it delivers nothing, because somebody paused it.
    #[serde(default)]
    pub(super) paused: bool,
}

/// A position in the consumer's deliveries and in the stream.
#[derive(Debug, Deserialize)]
pub(super) struct Position {
    pub(super) consumer_seq: u64,
    pub(super) stream_seq: u64,
}

/// Reads the state of a consumer.
pub(super) async fn consumer(
    link: &Link,
    stream: String,
    name: &str,
) -> Result<ConsumerInfo, AskError> {
    link.ask(&format!("CONSUMER.INFO.{stream}.{name}"), &json!({})).await
}

/// Returns the jobs with facts between the acknowledgement floor and the last delivery. Some of
/// these facts may be acknowledged: the server does not say which.
pub(super) async fn unsettled(log: &NatsLog, shard: Shard) -> Result<Vec<JobId>, LogError> {
    let (link, subjects) = (&log.link, &log.subjects);
    let (stream, name) = (subjects.stream(shard), subjects.facts_consumer());
    let info = match consumer(link, stream.clone(), &name).await {
        // The consumer does not exist: no supervisor has pulled facts yet.
        Err(AskError::Refused(refusal)) if refusal.err_code == 10014 => return Ok(Vec::new()),
        info => info?,
    };
    if info.num_ack_pending == 0 {
        return Ok(Vec::new());
    }
    let mut jobs = BTreeSet::new();
    let (mut after, end) = (Seq(info.ack_floor.stream_seq), Seq(info.delivered.stream_seq));
    loop {
        let Page { messages, more } =
            read::page(link, &stream, &subjects.facts_in(shard), after, PAGE).await?;
        let Some(last) = messages.last() else { break };
        after = last.seq;
        let places = messages.iter().take_while(|message| message.seq <= end);
        jobs.extend(places.filter_map(|message| Some(subjects.parse(&message.subject).ok()?.job)));
        if !more || after >= end {
            break;
        }
    }
    Ok(jobs.into_iter().collect())
}

/// Returns submissions before a position, newest first: steps back through the stream, in growing
/// steps.
pub(super) async fn submissions(
    log: &NatsLog,
    shard: Shard,
    before: Option<Seq>,
    limit: usize,
) -> Result<Vec<Entry>, LogError> {
    let stream = log.subjects.stream(shard);
    let (first, last) = match read::bounds(&log.link, &stream).await {
        Ok(bounds) => bounds,
        Err(error) => return Err(log.unread(&stream, error).await),
    };
    let mut end = before.map_or(last.saturating_add(1), |seq| seq.0.min(last.saturating_add(1)));
    let mut window = WINDOW;
    let mut found: Vec<Entry> = Vec::new();
    while end > first && found.len() < limit {
        let start = end.saturating_sub(window).max(first);
        let mut some = door_facts(log, shard, &stream, start, end).await?;
        some.reverse();
        for message in some {
            if found.len() == limit {
                break;
            }
            if is_submission(log, &stream, &message).await? {
                found.extend(log.entry(message).await?);
            }
        }
        (end, window) = (start, window.saturating_mul(2));
    }
    Ok(found)
}

/// Reads the facts from the door in the positions `start..end`.
async fn door_facts(
    log: &NatsLog,
    shard: Shard,
    stream: &str,
    start: u64,
    end: u64,
) -> Result<Vec<Stored>, LogError> {
    let filter = log.subjects.door_facts_in(shard);
    let mut after = Seq(start.saturating_sub(1));
    let mut all = Vec::new();
    loop {
        let Page { messages, more } = read::page(&log.link, stream, &filter, after, PAGE).await?;
        let Some(last) = messages.last() else { return Ok(all) };
        after = last.seq;
        let through = !more || after.0 >= end;
        all.extend(messages.into_iter().take_while(|message| message.seq.0 < end));
        if through {
            return Ok(all);
        }
    }
}

/// `true` if the message is its job's first record. Signals and forged messages are on the same
/// subjects; the record's kind alone is not trusted.
async fn is_submission(log: &NatsLog, stream: &str, message: &Stored) -> Result<bool, LogError> {
    if !is_door_fact(&log.subjects, message) {
        return Ok(false);
    }
    let record = proto::record::Record::from_slice(&message.payload);
    if record.is_ok_and(|record| record.kind == "signaled") {
        return Ok(false);
    }
    let first = read::page(&log.link, stream, &message.subject, Seq(0), 1).await?;
    Ok(first.messages.first().is_some_and(|first| first.seq == message.seq))
}

fn is_door_fact(subjects: &Subjects, message: &Stored) -> bool {
    let place = subjects.parse(&message.subject);
    place.is_ok_and(|place| place.family == Family::In(proto::fact::Source::Door))
}
