//! Removal of a job's log up to a position, and of unreferenced large values. Both need an
//! operator's permissions.
//!
//! Every removal names the position up to which its caller has read, so unread concurrent writes
//! survive.

use std::{collections::BTreeMap, time::Duration};

use async_nats::Message;
use futures::{StreamExt, stream::BoxStream};
use jiff::Timestamp;
use proto::id::{JobId, Seq, Shard};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    ack::Address,
    link::{AskError, Link},
    log::NatsLog,
    read::{self, Stored},
};
use crate::{
    backoff::{Backoff, Retryable},
    log::{LogError, ObjectRefs},
    objects::{self, Kept},
};

/// Number of messages in one page of records.
const PAGE: usize = 200;
/// Number of messages in one page of a listing, which omits their payload.
const LISTED: usize = 1_000;
/// Time after which the server drops an abandoned listing.
const LIST_KEPT: Duration = Duration::from_secs(60);
/// Pause between two attempts of a removal, which is idempotent.
const BACKOFF: Backoff = Backoff::constant(Duration::from_millis(100));

/// Removes the messages under a filter, up to `until` if given, and returns their number.
pub(super) async fn purge(
    link: &Link,
    stream: &str,
    filter: &str,
    until: Option<Seq>,
    patience: Duration,
) -> Result<u64, AskError> {
    #[derive(Deserialize)]
    struct Purged {
        purged: u64,
    }
    let (verb, start) = (format!("STREAM.PURGE.{stream}"), tokio::time::Instant::now());
    let mut request = json!({"filter": filter});
    if let Some(until) = until {
        // The server expects the first position to keep.
        request["seq"] = json!(until.0.saturating_add(1));
    }
    let purged = (|| link.ask::<Purged>(&verb, &request))
        .retry(BACKOFF)
        .when(|error| error.is_transient() && start.elapsed() < patience)
        .await?;
    Ok(purged.purged)
}

/// Removes a job's records and timers, up to `until` if given, and returns their number.
pub(super) async fn purge_job(
    log: &NatsLog,
    job: &JobId,
    until: Option<Seq>,
) -> Result<u64, LogError> {
    let stream = log.subjects.stream(log.subjects.shard_of(job));
    let patience = Duration::from_millis(log.options.write_patience_ms);
    Ok(purge(&log.link, &stream, &log.subjects.everything_of(job), until, patience).await?)
}

/// Streams the names of large values in all messages of a shard. Messages that a slow replica lacks
/// are read from the leader.
pub(super) fn object_refs(
    log: &NatsLog,
    shard: Shard,
) -> BoxStream<'static, Result<Vec<ObjectRefs>, LogError>> {
    let log = log.clone();
    Box::pin(async_stream::try_stream! {
        let (link, stream) = (&log.link, log.subjects.stream(shard));
        let last = read::last_at_leader(link, &stream, ">").await?;
        let last = last.map_or(Seq(0), |message| message.seq);
        let mut at = Seq(0);
        loop {
            let page = read::page(link, &stream, ">", at, PAGE).await?;
            at = page.messages.last().map_or(at, |message| message.seq);
            yield page.messages.iter().map(|message| mention(&log, message)).collect();
            if !page.more {
                break;
            }
        }
        while at < last {
            let Some(next) = read::next_at_leader(link, &stream, ">", at).await? else { break };
            at = next.seq;
            yield vec![mention(&log, &next)];
        }
    })
}

fn mention(log: &NatsLog, message: &Stored) -> ObjectRefs {
    let job = log.subjects.parse(&message.subject).ok().map(|place| place.job);
    ObjectRefs::of(job, &message.payload)
}

/// A piece of a value, without its payload.
struct Piece {
    name: String,
    bytes: u64,
    seq: Seq,
    time: Timestamp,
}

/// Lists the values in a stream, by their pieces.
pub(super) async fn list(link: &Link, stream: &str) -> Result<Vec<Kept>, AskError> {
    let now = server_time(link, stream).await?;
    let name = format!("list-{}", uuid::Uuid::now_v7().simple());
    let config = json!({
        "name": name,
        "ack_policy": "none",
        "deliver_policy": "all",
        "replay_policy": "instant",
        "headers_only": true,
        "mem_storage": true,
        "num_replicas": 1,
        "inactive_threshold": u64::try_from(LIST_KEPT.as_nanos()).unwrap_or(u64::MAX),
    });
    let request = json!({"stream_name": stream, "config": config, "action": "create"});
    link.ask::<Value>(&format!("CONSUMER.CREATE.{stream}.{name}"), &request).await?;
    let listed = pieces(link, stream, &name).await;
    // The server drops the consumer by itself if this request is lost.
    let _ = link.ask::<Value>(&format!("CONSUMER.DELETE.{stream}.{name}"), &json!({})).await;
    let mut values: BTreeMap<String, Kept> = BTreeMap::new();
    for piece in listed? {
        let age = now.duration_since(piece.time).try_into().unwrap_or_default();
        let value = values.entry(piece.name.clone()).or_insert(Kept {
            sha256: piece.name,
            bytes: 0,
            age,
            until: piece.seq,
        });
        value.bytes = value.bytes.saturating_add(piece.bytes);
        value.age = value.age.min(age);
        value.until = value.until.max(piece.seq);
    }
    let mut values: Vec<Kept> = values.into_values().collect();
    values.sort_by_key(|value| value.until);
    Ok(values)
}

/// Reads the time of the server that leads the stream.
pub(super) async fn server_time(link: &Link, stream: &str) -> Result<Timestamp, AskError> {
    #[derive(Deserialize)]
    struct Info {
        ts: Timestamp,
    }
    let Info { ts } = link.ask(&format!("STREAM.INFO.{stream}"), &json!({})).await?;
    Ok(ts)
}

/// Reads everything that a consumer delivers, and checks that there is no gap.
async fn pieces(link: &Link, stream: &str, consumer: &str) -> Result<Vec<Piece>, AskError> {
    let mut all = Vec::new();
    let mut given = 0;
    loop {
        let page = page(link, stream, consumer).await?;
        if page.is_empty() {
            return Ok(all);
        }
        for message in page {
            let malformed = || AskError::Malformed(format!("a delivery of {consumer}"));
            let reply = message.reply.as_deref().ok_or_else(malformed)?;
            let address = Address::parse(reply).ok_or_else(malformed)?;
            given += 1;
            if address.consumer_seq != given {
                return Err(AskError::Lost(format!("a part of the list of {stream} was lost")));
            }
            // `<prefix>.object.<name>.<piece>`
            let Some(name) = message.subject.rsplit('.').nth(1) else { continue };
            // A user who may store values may store one under `*`: removing that name would remove
            // everything.
            if !objects::is_name(name) {
                continue;
            }
            let size =
                message.headers.as_ref().and_then(|headers| headers.get_last("Nats-Msg-Size"));
            all.push(Piece {
                name: name.to_owned(),
                bytes: size.and_then(|size| size.as_str().parse().ok()).unwrap_or_default(),
                seq: Seq(address.stream_seq),
                time: address.time,
            });
        }
    }
}

/// Reads the next messages of a consumer; empty when there are no more.
async fn page(link: &Link, stream: &str, consumer: &str) -> Result<Vec<Message>, AskError> {
    let lost = |why: &str| AskError::Lost(format!("the list of {stream} was not read: {why}"));
    let mut losses = link.losses();
    let inbox = link.client.new_inbox();
    let subscribed = link.client.subscribe(inbox.clone()).await;
    let mut replies = subscribed.map_err(|error| lost(&error.to_string()))?;
    let request = json!({"batch": LISTED, "no_wait": true}).to_string();
    let next = format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}");
    let sent = link.client.publish_with_reply(next, inbox, request.into()).await;
    sent.map_err(|error| lost(&error.to_string()))?;
    let mut messages = Vec::new();
    while messages.len() < LISTED {
        let reply = tokio::select! {
            biased;
            reply = tokio::time::timeout(link.request_timeout, replies.next()) => reply,
            () = losses.next() => return Err(lost("the connection was lost")),
        };
        let Ok(Some(reply)) = reply else { return Err(lost("silence")) };
        match reply.status.map(|status| status.as_u16()) {
            None => messages.push(reply),
            // Nothing more, or fewer than requested.
            Some(404 | 408) => break,
            Some(503) => return Err(AskError::NoResponders("a consumer".to_owned())),
            Some(code) => return Err(lost(&format!("status {code}"))),
        }
    }
    Ok(messages)
}
