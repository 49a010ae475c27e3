//! The jobs that are watched in this process: one reader and one fold per job, however many
//! watchers it has.
//!
//! A job's feed lives as long as a watcher holds it. Watchers take from it at their own pace: a
//! slow one delays no other, and reads from the log what the feed no longer keeps.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
};

use broker::Broker;
use bytes::Bytes;
use futures::StreamExt;
use proto::{
    door::Watched,
    error::{Code, Failure},
    id::{JobId, Seq},
    refusal::Text,
    wire::{self, Live, LiveUpdate},
};
use tokio::sync::{OnceCell, broadcast, watch};
use tokio_util::task::AbortOnDropHandle;

use super::{
    feed::{self, Feed, Memory},
    follower,
};
use crate::{surroundings::Observer, truncate};

/// Live messages that are buffered for a slow watcher; older ones are dropped.
const LIVE_MAX: usize = 256;

/// The feeds of a process.
#[derive(Debug)]
pub(crate) struct Hub {
    broker: Broker,
    observer: Observer,
    jobs: Arc<Jobs>,
    memory: Arc<Memory>,
}

type Jobs = Mutex<HashMap<JobId, Weak<WatchedJob>>>;

/// A watched job, which is followed until its last watcher drops it.
#[derive(Debug)]
pub(super) struct WatchedJob {
    id: JobId,
    broker: Broker,
    observer: Observer,
    jobs: Arc<Jobs>,
    feed: Arc<watch::Sender<Feed>>,
    follower: OnceLock<AbortOnDropHandle<()>>,
    live: OnceCell<(broadcast::Sender<Bytes>, AbortOnDropHandle<()>)>,
}

impl Hub {
    /// Creates a hub whose feeds together keep up to `bytes` bytes.
    pub(crate) fn new(broker: Broker, observer: Observer, bytes: usize) -> Self {
        Self { broker, observer, jobs: Arc::default(), memory: Arc::new(Memory::of(bytes)) }
    }

    /// Returns the feed of a job. [`WatchedJob::follow`] starts it.
    pub(super) fn join(&self, id: &JobId) -> Arc<WatchedJob> {
        self.join_or_replace(id).0
    }

    /// Returns the feed of a job, and the finished feed that it replaces. Dropping the last handle
    /// of a feed locks the map, so the caller drops the replaced one after the lock of this
    /// function is released.
    fn join_or_replace(&self, id: &JobId) -> (Arc<WatchedJob>, Option<Arc<WatchedJob>>) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let replaced = match jobs.get(id).and_then(Weak::upgrade) {
            Some(job) if !job.is_over() => return (job, None),
            // A finished feed is never reused: an ended job may be rolled back.
            over => over,
        };
        let feed = watch::Sender::new(Feed::new(Arc::clone(&self.memory)));
        let job = Arc::new(WatchedJob {
            id: id.clone(),
            broker: self.broker.clone(),
            observer: self.observer.clone(),
            jobs: Arc::clone(&self.jobs),
            feed: Arc::new(feed),
            follower: OnceLock::new(),
            live: OnceCell::new(),
        });
        jobs.insert(id.clone(), Arc::downgrade(&job));
        (job, replaced)
    }
}

impl WatchedJob {
    pub(super) fn id(&self) -> &JobId {
        &self.id
    }

    fn is_over(&self) -> bool {
        self.feed.borrow().end.is_some()
    }

    /// Subscribes to the feed, and returns the last record that is stored at this moment.
    ///
    /// # Errors
    /// Returns `not_found` if there is no such job, or an error if its log cannot be read.
    pub(super) async fn follow(&self) -> Result<(watch::Receiver<Feed>, Seq), Failure> {
        let mut feed = self.feed.subscribe();
        let mut is_first = false;
        self.follower.get_or_init(|| {
            is_first = true;
            let observer = self.observer.clone();
            let (id, feed) = (self.id.clone(), Arc::clone(&self.feed));
            AbortOnDropHandle::new(tokio::spawn(follower::run(observer, id, feed)))
        });
        let begun = {
            // No view precedes the last record that is stored, so the first watcher begins at once.
            let has_begun = |feed: &Feed| match is_first {
                true => feed.seq > Seq(0),
                false => feed.is_current,
            };
            let feed = feed.wait_for(|feed| has_begun(feed) || feed.end.is_some()).await;
            let feed = feed.map_err(|_| feed::again(Text::FeedEnded))?;
            match &feed.end {
                Some(Err(failure)) if feed.seq == Seq(0) => Err(failure.clone()),
                Some(_) | None => Ok(feed.seq),
            }
        };
        let begun = match begun {
            // The first watcher may have come before the job was submitted, and this one after.
            Err(failure) if !is_first && failure.code == Code::NotFound => {
                let stored = self.broker.log.read(&self.id, Seq(0)).await?;
                return Err(match stored.is_empty() {
                    true => failure,
                    false => feed::again(Text::SubmittedMeanwhile),
                });
            }
            begun => begun?,
        };
        feed.mark_changed();
        if is_first {
            return Ok((feed, begun));
        }
        // The fold may lag behind a record that this watcher knows to be stored.
        let stored = self.broker.log.read(&self.id, begun).await?;
        Ok((feed, stored.last().map_or(begun, |entry| entry.seq)))
    }

    /// Subscribes to live output of running work.
    pub(super) async fn live(&self) -> Result<broadcast::Receiver<Bytes>, Failure> {
        let subscribe = async || {
            let subject = self.broker.log.subjects().live(&self.id);
            let messages = self.broker.bus.subscribe(subject).await;
            let mut messages =
                messages.map_err(|e| Failure::new(Code::Unavailable, e.to_string()))?;
            let (sender, _) = broadcast::channel(LIVE_MAX);
            let live = sender.clone();
            let pass_on = tokio::spawn(async move {
                while let Some(message) = messages.next().await {
                    // There may be no receiver at the moment.
                    let _ = readable(&message.payload).map(|bytes| live.send(bytes));
                }
            });
            Ok::<_, Failure>((sender, AbortOnDropHandle::new(pass_on)))
        };
        Ok(self.live.get_or_try_init(subscribe).await?.0.subscribe())
    }
}

impl Drop for WatchedJob {
    fn drop(&mut self) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        // A newer feed of the job may have taken its place.
        if jobs.get(&self.id).is_some_and(|job| job.strong_count() == 0) {
            jobs.remove(&self.id);
        }
    }
}

/// Returns a live message in the form for watchers, or `None` if it is unreadable: live messages
/// are ephemeral.
fn readable(payload: &[u8]) -> Option<Bytes> {
    let live: Live = wire::decode(payload)
        .inspect_err(|error| tracing::debug!(%error, "a live message cannot be read"))
        .ok()?;
    let (what, text) = match live.said {
        LiveUpdate::Taken { worker } => ("taken", worker.to_string()),
        LiveUpdate::Text(text) => ("text", text),
        LiveUpdate::Thought(text) => ("thought", text),
        LiveUpdate::Tool { tool } => ("tool", tool.to_string()),
    };
    let message = Watched::Live {
        work: live.work.to_string(),
        attempt: live.attempt.0,
        step: live.step.map(|step| step.to_string()),
        index: live.index,
        what: what.to_owned(),
        text,
    };
    truncate::bytes(&message).ok()
}

#[cfg(test)]
mod tests {
    use broker::memory::{Memory, MemoryOptions};
    use proto::{fact::Source, id::WorkerId, subject::Subjects};

    use super::*;

    fn hub() -> (Memory, Hub) {
        let memory = Memory::new(Subjects::new("cb", 4).unwrap(), MemoryOptions::default());
        let broker = memory.connect(WorkerId::new("door").unwrap());
        let crew = runtime::presence::Crew::open(&broker);
        let observer = Observer::new(broker.clone(), crew);
        (memory, Hub::new(broker, observer, 1024))
    }

    #[tokio::test]
    async fn watchers_share_a_feed_that_ends_with_the_last_of_them() {
        let (_memory, hub) = hub();
        let job = JobId::new("j").unwrap();
        let (first, second) = (hub.join(&job), hub.join(&job));
        assert!(Arc::ptr_eq(&first, &second));
        drop(first);
        assert_eq!(hub.jobs.lock().unwrap().len(), 1);
        drop(second);
        assert!(hub.jobs.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_feed_that_is_over_makes_way_for_another_one() {
        let (memory, hub) = hub();
        let job = JobId::new("j").unwrap();
        let first = hub.join(&job);
        assert_eq!(first.follow().await.unwrap_err().code, Code::NotFound);
        let subject = hub.broker.log.subjects().fact(&job, &Source::Door);
        memory.store_raw(&subject, Bytes::from_static(b"unreadable")).unwrap();
        let second = hub.join(&job);
        let (feed, stored) = second.follow().await.unwrap();
        assert_eq!(feed.borrow().seq, stored);
        drop(first);
        assert_eq!(hub.jobs.lock().unwrap().len(), 1, "the second is still there");
    }
}
