//! Pulling messages from consumers over one subscription, in exactly the requested number.
//!
//! The client library's own streams request the next messages before the last ones are processed; a
//! message that waits in their buffer past its time is redelivered. Here demand is exactly what the
//! caller requests, and pins are visible. A puller knows how many messages each consumer still owes
//! (its credit): for messages that it does not deliver in time, the server sends a status with
//! their number.
//!
//! It never yields a message twice by itself, and never reuses an interrupted subscription:
//! messages on their way there could add to those of a new request.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use async_nats::{Message, Subscriber};
use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use proto::id::Seq;
use serde_json::json;
use tokio::time::Instant;

use super::words::{Text, drift};
use super::{
    ack::Address,
    lane::Lane,
    link::{AskError, Link, Losses},
    read::{self, Stored},
    scan::{self, ConsumerInfo},
    setup::GROUP,
};
use crate::{
    backoff::{Backoff, Retryable},
    log::LogError,
};

/// Delay of a status message after which the outstanding messages count as lost.
const GRACE: Duration = Duration::from_secs(1);
/// Longest silence of a server: more than two heartbeats.
const SIGNS: Duration = Duration::from_secs(3);
/// Shortest wait for which a request asks for heartbeats.
const HEARTBEATS_FROM: Duration = Duration::from_secs(4);
/// Pause before a retry when the server does not answer.
const AGAIN: Duration = Duration::from_millis(50);

/// The wait of a request for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// Returns only messages that are available now.
    No,
    /// Waits up to this time for more.
    For(Duration),
}

pub(super) enum Event {
    /// A message of a lane arrived.
    Delivered(Box<Delivered>),
    /// That many requested messages will not arrive.
    Ended { lane: usize, left: usize },
    /// The subscription was interrupted: no outstanding message will arrive. Call
    /// [`Puller::reopen`].
    Broken(&'static str),
    /// The puller cannot continue.
    Failed(LogError),
}

pub(super) struct Delivered {
    pub(super) lane: usize,
    pub(super) message: Stored,
    /// Number of deliveries, including this one.
    pub(super) delivered: u64,
    /// Its sequence number among all deliveries of the consumer.
    pub(super) consumer_seq: u64,
    /// Number of pending messages behind it.
    pub(super) pending: u64,
    /// The subject of its acknowledgement.
    pub(super) reply: String,
    /// The pin id under which it was delivered.
    pub(super) pin: Option<String>,
}

/// A subscription that pulls messages from several consumers.
pub(super) struct Puller {
    link: Arc<Link>,
    pub(super) lanes: Vec<Lane>,
    subscription: Subscriber,
    inbox: String,
    token: u64,
    losses: Losses,
    stall: Duration,
    reopened: Instant,
    waiting: VecDeque<Event>,
}

impl Puller {
    pub(super) async fn open(
        link: Arc<Link>,
        lanes: Vec<Lane>,
        stall: Duration,
    ) -> Result<Self, LogError> {
        let losses = link.losses();
        let (subscription, inbox) = subscribe(&link).await?;
        Ok(Self {
            link,
            lanes,
            subscription,
            inbox,
            token: 0,
            losses,
            stall,
            reopened: Instant::now(),
            waiting: VecDeque::new(),
        })
    }

    /// Resubscribes after an interruption. Waits for the server, and returns the state of each
    /// consumer.
    pub(super) async fn reopen(&mut self) -> Result<Vec<ConsumerInfo>, LogError> {
        give_back(&self.link, &mut self.subscription);
        if std::mem::replace(&mut self.reopened, Instant::now()).elapsed() < AGAIN * 10 {
            tokio::time::sleep(AGAIN).await;
        }
        self.losses.take();
        (self.subscription, self.inbox) = subscribe(&self.link).await?;
        self.waiting.clear();
        for lane in &mut self.lanes {
            *lane = Lane {
                stalled: lane.stalled,
                ..Lane::new(
                    std::mem::take(&mut lane.stream),
                    std::mem::take(&mut lane.consumer),
                    lane.pinned,
                )
            };
        }
        self.infos().await
    }

    /// Reads the state of each consumer. Waits for the server.
    pub(super) async fn infos(&self) -> Result<Vec<ConsumerInfo>, LogError> {
        let is_away = |error: &AskError| {
            error.is_transient()
                || matches!(error, AskError::Refused(refusal) if refusal.code >= 500)
        };
        let ask = || {
            let lanes = self.lanes.iter();
            futures::future::try_join_all(
                lanes.map(|lane| scan::consumer(&self.link, lane.stream.clone(), &lane.consumer)),
            )
        };
        Ok(ask.retry(Backoff::constant(AGAIN)).when(is_away).await?)
    }

    /// Requests `n` more messages from a consumer.
    pub(super) async fn request(&mut self, lane: usize, n: usize, wait: Wait) {
        self.token += 1;
        let (token, at) = (self.token, lane);
        let lane = &mut self.lanes[lane];
        let mut request = json!({"batch": n});
        let mut silence = GRACE;
        match wait {
            Wait::No => request["no_wait"] = json!(true),
            Wait::For(expires) => {
                request["expires"] = json!(nanos(expires));
                silence = expires + GRACE;
                if expires >= HEARTBEATS_FROM {
                    let heartbeat = expires / 4;
                    request["idle_heartbeat"] = json!(nanos(heartbeat));
                    silence = heartbeat * 2 + GRACE;
                }
            }
        }
        if lane.pinned {
            request["group"] = json!(GROUP);
            if let Some(pin) = &lane.pin {
                request["id"] = json!(pin);
            }
        }
        if lane.credit == 0 {
            lane.silent_at = None;
        }
        lane.credit += n;
        lane.open.push_back((token, n));
        let silent_at = Instant::now() + silence;
        lane.silent_at = Some(lane.silent_at.map_or(silent_at, |at| at.max(silent_at)));
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{}.{}", lane.stream, lane.consumer);
        let reply = format!("{}.{at}.{token}", self.inbox);
        let payload = Bytes::from(request.to_string());
        if let Err(error) = self.link.client.publish_with_reply(subject, reply, payload).await {
            tracing::debug!(%error, "a request for messages could not be sent");
            self.waiting.push_back(Event::Broken("a request could not be sent"));
        }
    }

    /// Waits for the next event. Cancellation safe.
    pub(super) async fn next(&mut self) -> Event {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return event;
            }
            // Under load messages are already buffered, so no timer is needed.
            if let Some(Some(message)) = self.subscription.next().now_or_never() {
                if let Some(event) = self.take(message) {
                    return event;
                }
                continue;
            }
            let silent_at = self.lanes.iter().filter_map(|lane| lane.silent_at).min();
            let silence = async {
                match silent_at {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                message = self.subscription.next() => match message {
                    Some(message) => if let Some(event) = self.take(message) {
                        return event;
                    },
                    None => return closed(),
                },
                () = self.losses.next() => return Event::Broken("the connection was lost"),
                () = silence => return Event::Broken("the server is silent"),
            }
        }
    }

    fn take(&mut self, message: Message) -> Option<Event> {
        match message.reply.clone() {
            Some(reply) => self.delivered(message, reply.as_str()),
            None => self.status(&message),
        }
    }

    fn delivered(&mut self, message: Message, reply: &str) -> Option<Event> {
        let ack = Address::parse(reply)?;
        let at = self.lanes.iter().position(|lane| lane.stream == ack.stream)?;
        let (lane, reply) = (&mut self.lanes[at], reply.to_owned());
        if lane.credit == 0 {
            // An unrequested message. It must not wait here until its deadline passes.
            let link = Arc::clone(&self.link);
            tokio::spawn(async move { link.tell(reply, Bytes::from_static(b"-NAK")).await });
            return None;
        }
        lane.settle(1);
        lane.heard(SIGNS);
        (lane.moved, lane.stalled) = (Instant::now(), false);
        let headers = message.headers.unwrap_or_default();
        let pin = headers.get_last("Nats-Pin-Id").map(|pin| pin.as_str().to_owned());
        if lane.pinned {
            lane.pin.clone_from(&pin);
        }
        let (seq, subject) = (Seq(ack.stream_seq), message.subject.to_string());
        let is_published = self.link.is_published(ack.stream, &subject, seq, &headers);
        Some(Event::Delivered(Box::new(Delivered {
            lane: at,
            delivered: ack.delivered,
            consumer_seq: ack.consumer_seq,
            pending: ack.pending,
            reply,
            pin,
            message: Stored {
                seq,
                time: ack.time,
                foreign: read::is_relayed(&headers, false) || !is_published,
                subject,
                headers,
                payload: message.payload,
            },
        })))
    }

    fn status(&mut self, message: &Message) -> Option<Event> {
        let code = message.status?.as_u16();
        let rest = message.subject.as_str().strip_prefix(&self.inbox)?.strip_prefix('.')?;
        let (at, token) = rest.split_once('.')?;
        let (at, token) = (at.parse::<usize>().ok()?, token.parse::<u64>().ok()?);
        let lane = self.lanes.get_mut(at)?;
        let said = message.description.as_deref().unwrap_or_default();
        if code == 100 {
            lane.heard(SIGNS);
            return None;
        }
        let open = lane.open.iter().position(|(open, _)| *open == token);
        let asked = open.and_then(|open| lane.open.remove(open)).map_or(0, |(_, n)| n);
        let headers = message.headers.as_ref();
        let left = headers.and_then(|headers| headers.get("Nats-Pending-Messages"));
        let left = left.and_then(|left| left.as_str().parse().ok()).unwrap_or(asked);
        let left = lane.settle(left);
        if code == 423 {
            lane.pin = None;
        }
        match refusal(code, said) {
            Some(error) => {
                let (consumer, stream) = (&lane.consumer, &lane.stream);
                Some(Event::Failed(drift(Text::OfConsumer { consumer, stream, why: &error })))
            }
            // The consumer is missing, leaderless or overloaded, or JetStream is still starting.
            None if matches!(code, 409 | 503) => {
                Some(Event::Broken("the server rejected the request"))
            }
            None => Some(Event::Ended { lane: at, left }),
        }
    }

    /// Detects stalled consumers, which have pending messages but deliver none. Reopens the
    /// subscription first, and fails if that did not help.
    pub(super) async fn watchdog(&mut self) -> Option<Event> {
        for at in 0..self.lanes.len() {
            let lane = &mut self.lanes[at];
            if lane.credit == 0 || lane.moved.elapsed() < self.stall {
                continue;
            }
            lane.moved = Instant::now();
            let (stream, name) = (lane.stream.clone(), lane.consumer.clone());
            let Ok(info) = scan::consumer(&self.link, stream.clone(), &name).await else {
                continue;
            };
            let lane = &mut self.lanes[at];
            if info.num_pending == 0 || info.paused || lane.pinned && lane.pin.is_none() {
                lane.stalled = false;
            } else if std::mem::replace(&mut lane.stalled, true) {
                return Some(Event::Failed(LogError::Unavailable(format!(
                    "the consumer {name} of {stream} has {} messages and delivers none",
                    info.num_pending
                ))));
            } else {
                tracing::warn!(
                    stream,
                    consumer = name,
                    "nothing is delivered; sending the request again"
                );
                return Some(Event::Broken("nothing is delivered"));
            }
        }
        None
    }

    /// Releases the pins, so that another puller receives the messages at once.
    fn unpin(&self) {
        for lane in self.lanes.iter().filter(|lane| lane.pin.is_some()) {
            let subject = format!("$JS.API.CONSUMER.UNPIN.{}.{}", lane.stream, lane.consumer);
            let link = Arc::clone(&self.link);
            later(async move {
                link.tell(subject, Bytes::from(json!({"group": GROUP}).to_string())).await;
            });
        }
    }
}

impl Drop for Puller {
    fn drop(&mut self) {
        give_back(&self.link, &mut self.subscription);
        self.unpin();
    }
}

async fn subscribe(link: &Link) -> Result<(Subscriber, String), LogError> {
    let inbox = link.client.new_inbox();
    let subscribed = link.client.subscribe(format!("{inbox}.*.*")).await;
    Ok((subscribed.map_err(|e| LogError::Unavailable(e.to_string()))?, inbox))
}

/// Negatively acknowledges buffered messages, so that they are redelivered at once.
fn give_back(link: &Arc<Link>, subscription: &mut Subscriber) {
    let mut replies = Vec::new();
    while let Some(Some(message)) = subscription.next().now_or_never() {
        replies.extend(message.reply.filter(|reply| Address::parse(reply).is_some()));
    }
    if !replies.is_empty() {
        let link = Arc::clone(link);
        later(async move {
            for reply in replies {
                link.tell(reply.to_string(), Bytes::from_static(b"-NAK")).await;
            }
        });
    }
}

/// Spawns a task, if a runtime still exists.
fn later(what: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(what);
    }
}

fn closed() -> Event {
    Event::Failed(LogError::Unavailable("the connection is closed".to_owned()))
}

/// Returns the server's text if a retry cannot succeed.
fn refusal(code: u16, said: &str) -> Option<&str> {
    let word = |word: &str| said.contains(word);
    match code {
        400 | 412 => Some(said),
        409 if word("Deleted") => Some("it was deleted"),
        409 if word("push based") || word("MaxRequest") => Some(said),
        _ => None,
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
