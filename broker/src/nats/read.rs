//! Reads of stored messages without a consumer: one request and many replies, about half a
//! millisecond for the thirty records of a job.
//!
//! Any replica serves direct reads. With several replicas, the result is compared with the leader,
//! and messages that a slow replica lacks are read from the leader.
//!
//! A stored message may contain any header and any status that its writer chose. The server appends
//! its own headers, so they take precedence; its reply about a *request* contains none of them.

use std::time::Duration;

use async_nats::{
    HeaderMap, Message,
    jetstream::{message::StreamMessage, stream::RawMessage},
};
use bytes::Bytes;
use futures::{Stream, StreamExt, future::maybe_done};
use jiff::Timestamp;
use proto::id::Seq;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::link::{AskError, Link, Refusal};
use crate::log::{Latest, ShardState};

/// Number of messages of one page.
const PAGE: usize = 500;

#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) seq: Seq,
    pub(super) time: Timestamp,
    pub(super) subject: String,
    pub(super) headers: HeaderMap,
    pub(super) payload: Bytes,
    /// `true` if the server wrote this in its own name, as the reply to a request: it lacks its mark,
    /// or states a position.
    pub(super) foreign: bool,
}

/// `true` if the headers state a position more often than a genuine message would.
pub(super) fn is_relayed(headers: &HeaderMap, read_once: bool) -> bool {
    let said = headers.get_all(SEQUENCE).count();
    said > usize::from(read_once)
}

/// The server's header with the position of a message.
const SEQUENCE: &str = "Nats-Sequence";

/// A page of messages, and whether more follow.
pub(super) struct Page {
    pub(super) messages: Vec<Stored>,
    pub(super) more: bool,
}

/// Reads all messages of a stream under a filter after a position, in order. Includes every message
/// whose write was acknowledged before.
pub(super) async fn all(
    link: &Link,
    stream: &str,
    filter: &str,
    after: Seq,
    replicas: u8,
) -> Result<Vec<Stored>, AskError> {
    if replicas <= 1 {
        return pages(link, stream, filter, after).await;
    }
    let (read, last) =
        tokio::join!(pages(link, stream, filter, after), last_at_leader(link, stream, filter));
    let (mut read, last) = (read?, last?);
    let last = last.map_or(Seq(0), |message| message.seq);
    // A replica applies writes in order, so its messages are a prefix of the leader's.
    let mut at = read.last().map_or(after, |message| message.seq);
    while at < last {
        let Some(next) = next_at_leader(link, stream, filter, at).await? else { break };
        at = next.seq;
        read.push(next);
    }
    Ok(read)
}

/// Streams what [`all`] returns from the first message on, page by page. The next page is on its way
/// while its receiver works on one.
pub(super) fn parts<'a>(
    link: &'a Link,
    stream: &'a str,
    filter: &'a str,
    replicas: u8,
) -> impl Stream<Item = Result<Vec<Stored>, AskError>> + 'a {
    async_stream::try_stream! {
        let mut last = Seq(0);
        if replicas > 1 {
            last = last_at_leader(link, stream, filter).await?.map_or(last, |message| message.seq);
        }
        let mut at = Seq(0);
        let mut next = Box::pin(maybe_done(page(link, stream, filter, at, PAGE)));
        loop {
            next.as_mut().await;
            // The future was just awaited, and each output is taken once.
            let Some(read) = next.as_mut().take_output() else { return };
            let Page { messages, more } = read?;
            let Some(newest) = messages.last() else { break };
            at = newest.seq;
            next.set(maybe_done(page(link, stream, filter, at, PAGE)));
            if !more {
                yield messages;
                break;
            }
            let _ = futures::poll!(next.as_mut());
            yield messages;
        }
        // A replica applies writes in order, so its messages are a prefix of the leader's.
        while at < last {
            let Some(message) = next_at_leader(link, stream, filter, at).await? else { return };
            at = message.seq;
            yield vec![message];
        }
    }
}

async fn pages(
    link: &Link,
    stream: &str,
    filter: &str,
    mut after: Seq,
) -> Result<Vec<Stored>, AskError> {
    let mut all = Vec::new();
    loop {
        let Page { messages, more } = page(link, stream, filter, after, PAGE).await?;
        let Some(last) = messages.last() else { return Ok(all) };
        after = last.seq;
        all.extend(messages);
        if !more {
            return Ok(all);
        }
    }
}

/// Reads one page of messages under a filter after a position, from any replica.
pub(super) async fn page(
    link: &Link,
    stream: &str,
    filter: &str,
    after: Seq,
    limit: usize,
) -> Result<Page, AskError> {
    let from = after.0.saturating_add(1);
    ask(link, stream, &json!({"seq": from, "next_by_subj": filter, "batch": limit})).await
}

/// Sends a direct request to any replica. Repeats it until the time limit while none answers: a
/// request to a replica that has just died is lost.
pub(super) async fn ask(link: &Link, stream: &str, request: &Value) -> Result<Page, AskError> {
    let request = Bytes::from(request.to_string());
    let mut attempts = Attempts::new(link.request_timeout);
    loop {
        let limit = attempts.next_limit();
        match attempt(link, stream, request.clone(), limit).await {
            Err(AskError::Lost(_)) if attempts.is_repeatable() => {}
            page => return page,
        }
    }
}

/// The time limits of repeated attempts at an idempotent request, within one limit in total.
struct Attempts {
    start: Instant,
    total: Duration,
    sent: Instant,
    limit: Duration,
}

impl Attempts {
    /// Limit of the first attempt: shorter than an election.
    const FIRST: Duration = Duration::from_millis(500);

    fn new(total: Duration) -> Self {
        let now = Instant::now();
        Self { start: now, total, sent: now, limit: Self::FIRST / 2 }
    }

    /// Begins an attempt, and returns its limit: twice that of the attempt before, or all the time
    /// that is left if it does not suffice for a longer attempt after this one. So a slow server is
    /// asked seldom, and its answer to the last attempt is awaited.
    fn next_limit(&mut self) -> Duration {
        self.sent = Instant::now();
        let left = self.total.saturating_sub(self.start.elapsed());
        let next = self.limit * 2;
        self.limit = if left < next * 3 { left } else { next };
        self.limit
    }

    /// `true` if the attempt used up its limit and time is left. A connection that was lost fails
    /// at once instead.
    fn is_repeatable(&self) -> bool {
        self.sent.elapsed() >= self.limit && self.start.elapsed() < self.total
    }
}

/// Sends a direct request once. No reply may take longer than `limit`.
async fn attempt(
    link: &Link,
    stream: &str,
    request: Bytes,
    limit: Duration,
) -> Result<Page, AskError> {
    let lost = |why: String| AskError::Lost(format!("the stream {stream} was not read: {why}"));
    let mut losses = link.losses();
    let inbox = link.client.new_inbox();
    let subscribed = link.client.subscribe(inbox.clone()).await;
    let mut replies = subscribed.map_err(|e| lost(e.to_string()))?;
    let subject = format!("$JS.API.DIRECT.GET.{stream}");
    let sent = link.client.publish_with_reply(subject, inbox, request).await;
    sent.map_err(|e| lost(e.to_string()))?;
    let mut messages = Vec::new();
    loop {
        let reply = tokio::select! {
            biased;
            reply = tokio::time::timeout(limit, replies.next()) => {
                match reply {
                    Ok(Some(reply)) => reply,
                    Ok(None) => return Err(lost("the connection is closed".to_owned())),
                    Err(_) => return Err(lost(format!("silence for {limit:?}"))),
                }
            }
            () = losses.next() => return Err(lost("the connection was lost".to_owned())),
        };
        match stored(link, stream, reply)? {
            Reply::Message(message) => messages.push(*message),
            Reply::End { more } => return Ok(Page { messages, more }),
        }
    }
}

enum Reply {
    Message(Box<Stored>),
    End { more: bool },
}

fn stored(link: &Link, stream: &str, reply: Message) -> Result<Reply, AskError> {
    let headers = reply.headers.unwrap_or_default();
    let said = |name| headers.get_last(name).map(|value| value.as_str().to_owned());
    let place = (said(SEQUENCE), said("Nats-Subject"), said("Nats-Time-Stamp"));
    if let (Some(seq), Some(subject), Some(time)) = place {
        let malformed = || AskError::Malformed(format!("{seq} {time}"));
        let position = Seq(seq.parse().map_err(|_| malformed())?);
        return Ok(Reply::Message(Box::new(Stored {
            seq: position,
            time: time.parse().map_err(|_| malformed())?,
            foreign: is_relayed(&headers, true)
                || !link.is_published(stream, &subject, position, &headers),
            subject,
            headers,
            payload: reply.payload,
        })));
    }
    match reply.status.map(|status| status.as_u16()) {
        Some(204) => {
            let left = said("Nats-Num-Pending").and_then(|n| n.parse::<u64>().ok());
            Ok(Reply::End { more: left.is_some_and(|left| left > 0) })
        }
        Some(404) => Ok(Reply::End { more: false }),
        Some(503) => Err(AskError::NoResponders("a stream".to_owned())),
        code => {
            let description = reply.description.unwrap_or_default();
            // Only a temporary failure is worth a retry.
            let code = if code == Some(429) { 503 } else { code.unwrap_or_default() };
            Err(Refusal { code, err_code: 0, description }.into())
        }
    }
}

/// Reads the first message under a filter after a position, from the leader.
pub(super) async fn next_at_leader(
    link: &Link,
    stream: &str,
    filter: &str,
    after: Seq,
) -> Result<Option<Stored>, AskError> {
    let from = after.0.saturating_add(1);
    leader(link, stream, &json!({"seq": from, "next_by_subj": filter})).await
}

/// Reads the last message under a filter, from the leader.
pub(super) async fn last_at_leader(
    link: &Link,
    stream: &str,
    filter: &str,
) -> Result<Option<Stored>, AskError> {
    leader(link, stream, &json!({"last_by_subj": filter})).await
}

/// Reads the position of the last message of a stream, removed ones included.
pub(super) async fn end(link: &Link, stream: &str) -> Result<Seq, AskError> {
    Ok(Seq(bounds(link, stream).await?.1))
}

/// Reads the state of a stream, from the leader.
pub(super) async fn state(link: &Link, stream: &str) -> Result<ShardState, AskError> {
    let state = info(link, stream).await?;
    let last = Latest { seq: Seq(state.last_seq), time: state.last_ts };
    Ok(ShardState { last, records: state.messages })
}

/// Reads the positions of the first and the last message of a stream.
pub(super) async fn bounds(link: &Link, stream: &str) -> Result<(u64, u64), AskError> {
    let state = info(link, stream).await?;
    Ok((state.first_seq, state.last_seq))
}

/// The state of a stream at its leader.
#[derive(Deserialize)]
struct StreamState {
    first_seq: u64,
    last_seq: u64,
    last_ts: Timestamp,
    messages: u64,
}

async fn info(link: &Link, stream: &str) -> Result<StreamState, AskError> {
    #[derive(Deserialize)]
    struct Info {
        state: StreamState,
    }
    let Info { state } = link.ask(&format!("STREAM.INFO.{stream}"), &json!({})).await?;
    Ok(state)
}

async fn leader(link: &Link, stream: &str, which: &Value) -> Result<Option<Stored>, AskError> {
    #[derive(Deserialize)]
    struct Answer {
        message: Value,
    }
    let Answer { message } = match link.ask(&format!("STREAM.MSG.GET.{stream}"), which).await {
        Err(AskError::Refused(refusal)) if refusal.err_code == 10037 => return Ok(None),
        answer => answer?,
    };
    let malformed = |why: String| AskError::Malformed(format!("a stored message: {why}"));
    let time = message["time"].as_str().and_then(|time| time.parse().ok());
    let time = time.ok_or_else(|| malformed("it has no time".to_owned()))?;
    let mut raw: RawMessage =
        serde_json::from_value(message).map_err(|e| malformed(e.to_string()))?;
    let headers = raw.headers.take();
    let bare = RawMessage { headers: None, ..raw.clone() };
    // Unreadable headers must not hide their message.
    let message = StreamMessage::try_from(RawMessage { headers, ..raw })
        .or_else(|_| StreamMessage::try_from(bare))
        .map_err(|e| malformed(e.to_string()))?;
    let (seq, subject) = (Seq(message.sequence), message.subject.to_string());
    Ok(Some(Stored {
        seq,
        time,
        foreign: is_relayed(&message.headers, false)
            || !link.is_published(stream, &subject, seq, &message.headers),
        subject,
        headers: message.headers,
        payload: message.payload,
    }))
}

/// Interval at which a watch reads without a hint; grows with the number of watches. A thousand
/// watches cost a few hundred small reads a second.
pub(super) fn look_interval(watchers: usize) -> Duration {
    Duration::from_millis(u64::try_from(watchers).unwrap_or(u64::MAX).saturating_mul(5))
        .clamp(Duration::from_secs(1), Duration::from_secs(10))
}
