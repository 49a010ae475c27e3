//! A watch: the messages under a filter, then those stored later, without a gap and in order.
//!
//! A core subscription to the same subjects hints that a message was *sent*; every message is
//! *read* by position. So a lost hint loses no message, and no message is duplicated. A consumer
//! per watcher would be exact too. But each consumer costs the server memory and, in a stream with
//! a million subjects, a quarter of a second to start; thousands of watchers would slow the jobs
//! down.
//!
//! A hint arrives when a message is sent, which is before it is stored. Messages that the server
//! creates (timers) give no hint. Hence the watch reads after a hint, at growing intervals, until
//! it has as many messages as hints; and it reads every second or so in any case.
//!
//! A stream that was lost and created again, or truncated, begins before the watch's position. The
//! watch finds out by a hint without a message, and fails.

use std::{sync::Arc, time::Duration};

use async_nats::Subscriber;
use futures::{FutureExt, StreamExt, stream::BoxStream};
use proto::id::Seq;
use tokio::time::Instant;

use super::{
    link::{AskError, Link, Watching},
    read::{self, Stored},
};
use crate::backoff::{Backoff, Retryable};

#[derive(Debug, Clone)]
pub(super) struct Tail {
    pub(super) stream: String,
    /// Filter of the messages to read.
    pub(super) filter: String,
    /// Subjects of hints; may omit messages that are not urgent.
    pub(super) hints: Vec<String>,
    pub(super) replicas: u8,
}

pub(super) enum WatchItem {
    /// A message under the filter.
    Message(Box<Stored>),
    /// Every message older than the watch has been delivered.
    CaughtUp,
}

/// Pauses between reads after a hint whose message is not visible yet.
const SOON: [Duration; 6] = [
    Duration::from_millis(1),
    Duration::from_millis(4),
    Duration::from_millis(15),
    Duration::from_millis(60),
    Duration::from_millis(200),
    Duration::from_millis(500),
];

/// Time for which a watch survives an absent server.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pause between two reads while the server is absent.
const BACKOFF: Backoff = Backoff::constant(Duration::from_millis(100));

/// Watches the messages after a position.
///
/// # Errors
/// If the subscription or the first read fails.
pub(super) async fn watch(
    link: Arc<Link>,
    tail: Tail,
    mut after: Seq,
) -> Result<BoxStream<'static, Result<WatchItem, AskError>>, AskError> {
    let mut news = News::subscribe(&link, &tail.hints).await?;
    let watching = Watching::new(link);
    let link = Arc::clone(&watching.0);
    // The first read precedes the stream, so that errors surface here.
    let mut first = Some(read::all(&link, &tail.stream, &tail.filter, after, tail.replicas).await?);
    Ok(Box::pin(async_stream::try_stream! {
        let _watching = watching;
        let mut begun = false;
        loop {
            let found = match first.take() {
                Some(found) => found,
                None => read_on(&link, &tail, after, news.expected > 0).await?,
            };
            news.found(found.len());
            if news.is_in_doubt {
                news.is_in_doubt = !check_end(&link, &tail.stream, after).await?;
            }
            for message in found {
                after = message.seq;
                yield WatchItem::Message(Box::new(message));
            }
            if !std::mem::replace(&mut begun, true) {
                yield WatchItem::CaughtUp;
            }
            news.wait(&link).await?;
        }
    }))
}

/// Reads new messages, and survives a restart of the server. Without a hint it asks first whether
/// there are any: to read after an old position, the server compares the subjects of a whole block of
/// the stream, and finds the last message under a filter in its index.
async fn read_on(
    link: &Link,
    tail: &Tail,
    after: Seq,
    is_hinted: bool,
) -> Result<Vec<Stored>, AskError> {
    let Tail { stream, filter, .. } = tail;
    let read = || async {
        if !is_hinted {
            let last = read::last_at_leader(link, stream, filter).await?;
            if last.is_none_or(|last| last.seq <= after) {
                return Ok(Vec::new());
            }
        }
        read::all(link, stream, filter, after, tail.replicas).await
    };
    let start = Instant::now();
    read.retry(BACKOFF).when(|error| error.is_transient() && start.elapsed() < PATIENCE).await
}

/// Checks that the stream has not lost messages that were read. Returns `false` if nobody answers,
/// as during the election of a leader: then the next round checks.
async fn check_end(link: &Link, stream: &str, after: Seq) -> Result<bool, AskError> {
    let end = match read::end(link, stream).await {
        Err(error) if error.is_transient() => return Ok(false),
        end => end?,
    };
    if end < after {
        return Err(AskError::Lost(format!(
            "the stream {stream} ends at {end}, although record {after} was read: it lost records"
        )));
    }
    Ok(true)
}

/// Hints of messages that have not been read yet.
struct News {
    hints: futures::stream::SelectAll<Subscriber>,
    losses: super::link::Losses,
    /// Number of hinted messages not found yet.
    expected: usize,
    /// Index of the next pause in [`SOON`].
    tries: usize,
    /// `true` once a hinted message has not appeared.
    is_in_doubt: bool,
}

impl News {
    async fn subscribe(link: &Link, subjects: &[String]) -> Result<Self, AskError> {
        let losses = link.losses();
        let mut hints = futures::stream::SelectAll::new();
        for subject in subjects {
            let subscribed = link.client.subscribe(subject.clone()).await;
            hints.push(subscribed.map_err(|e| AskError::Lost(e.to_string()))?);
        }
        Ok(Self { hints, losses, expected: 0, tries: 0, is_in_doubt: false })
    }

    fn found(&mut self, messages: usize) {
        self.expected = self.expected.saturating_sub(messages);
    }

    /// Returns when the stream should be read again.
    async fn wait(&mut self, link: &Link) -> Result<(), AskError> {
        let watchers = link.watchers.load(std::sync::atomic::Ordering::Relaxed);
        let mut look = read::look_interval(watchers);
        if self.expected > 0 {
            match SOON.get(self.tries) {
                Some(soon) => look = *soon,
                // The message was rejected, or published by hand, or the stream was replaced.
                None => {
                    self.expected = 0;
                    self.is_in_doubt = true;
                }
            }
            self.tries += 1;
        }
        tokio::select! {
            biased;
            hint = self.hints.next() => {
                if hint.is_none() {
                    return Err(AskError::Lost("the connection is closed".to_owned()));
                }
                self.expected += 1;
                while let Some(Some(_)) = self.hints.next().now_or_never() {
                    self.expected += 1;
                }
                self.tries = 0;
            }
            // Hints may have been lost with the connection.
            () = self.losses.next() => {}
            () = tokio::time::sleep_until(Instant::now() + look) => {}
        }
        Ok(())
    }
}
