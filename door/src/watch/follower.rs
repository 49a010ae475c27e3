//! The follower of a watched job: it reads the log, folds every record once and fills the job's
//! feed.

use std::{mem, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use machine::{Job, Replay, Surroundings, events::Projection};
use proto::{
    door::Watched,
    entry::Entry,
    error::{Code, Failure},
    event::Event,
    id::{JobId, Seq},
    refusal::Text,
    why::{Reason, Why},
};
use tokio::{
    sync::watch,
    time::{Instant, MissedTickBehavior},
};

use super::feed::{BURST, Feed, Item, again};
use crate::{fold, surroundings::Observer, truncate};

/// Pause between two views, as a multiple of the time that the last one took, with one more
/// multiple per watcher. A large job is viewed less often; its records are never delayed.
const VIEW_SHARE: u32 = 8;
/// Longest pause between two views.
const VIEW_WAIT_MAX: Duration = Duration::from_secs(1);

/// Interval at which the surroundings of a watched job are observed.
const OBSERVE_EVERY: Duration = Duration::from_secs(2);

/// Follows a job until it ends or its log fails, and sets the end of the feed.
pub(super) async fn run(observer: Observer, id: JobId, feed: Arc<watch::Sender<Feed>>) {
    let end = AssertUnwindSafe(follow(&observer, id.clone(), &feed)).catch_unwind().await;
    let end = end.unwrap_or_else(|_| {
        tracing::error!(job = %id, "the follower of a watched job panicked");
        Err(Failure::new(Code::Internal, "the job cannot be followed"))
    });
    feed.send_modify(|feed| feed.end = Some(end));
}

async fn follow(observer: &Observer, id: JobId, feed: &watch::Sender<Feed>) -> Result<(), Failure> {
    let (job, projection) = match in_parts(observer, &id, feed).await? {
        Some(folded) => folded,
        None => whole(observer, &id, feed).await?,
    };
    let mut follower = Follower {
        observer,
        job,
        projection,
        feed,
        due: Instant::now(),
        around: Surroundings::default(),
        held: Vec::new(),
    };
    follower.observe().await;
    follower.publish(Vec::new())?;
    let mut looks = tokio::time::interval(OBSERVE_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    looks.reset();
    let tail = observer.log().watch(&id, follower.job.seq()).await?;
    let mut tail = tail.ready_chunks(BURST);
    while follower.job.outcome().is_none() {
        let is_shown = feed.borrow().is_shown();
        tokio::select! {
            entries = tail.next() => {
                let entries = entries.ok_or_else(|| again(Text::LogLost))?;
                follower.take(entries).await?;
            }
            () = tokio::time::sleep_until(follower.due), if !is_shown => follower.show()?,
            _ = looks.tick() => follower.look().await?,
        }
    }
    Ok(())
}

/// Folds what is stored, and publishes each part as soon as it is read. Returns `None` if the log has
/// to be folded as a whole.
async fn in_parts(
    observer: &Observer,
    id: &JobId,
    feed: &watch::Sender<Feed>,
) -> Result<Option<(Job, Projection)>, Failure> {
    let (mut job, mut projection) = (Job::new(id.clone()), Projection::default());
    let mut parts = observer.log().read_in_parts(id);
    while let Some(part) = parts.next().await {
        let part = part?;
        let items = fold::apart(id, || {
            let mut items = Vec::with_capacity(part.len());
            for entry in part {
                let folded = projection.begin(&mut job, &entry);
                if job.must_be_refolded() {
                    return None;
                }
                let events = projection.end(folded, &job);
                items.push(Item::new(entry, events));
            }
            Some(items)
        });
        let Ok(Some(items)) = items else { return Ok(None) };
        feed.send_modify(|feed| items.into_iter().for_each(|item| feed.push(item)));
    }
    if job.seq() == Seq(0) { Err(fold::missing(id)) } else { Ok(Some((job, projection))) }
}

/// Folds a whole log at once, and publishes what the feed lacks.
async fn whole(
    observer: &Observer,
    id: &JobId,
    feed: &watch::Sender<Feed>,
) -> Result<(Job, Projection), Failure> {
    let entries = fold::read(observer.log(), id).await?;
    let mut items = Vec::with_capacity(entries.len());
    let folded = replay(id, &entries, |_, events| items.push(events));
    let events = items.into_iter().chain(std::iter::repeat_with(Vec::new));
    let items = entries.into_iter().zip(events).map(|(entry, events)| Item::new(entry, events));
    // Records are shown even if the fold failed.
    feed.send_modify(|feed| {
        let published = feed.seq;
        let lacking = items.filter(|item| item.entry.seq > published);
        lacking.for_each(|item| feed.push(item));
    });
    folded
}

/// Folds a whole log, and calls `each` with every entry and its events.
pub(super) fn replay(
    id: &JobId,
    entries: &[Entry],
    mut each: impl FnMut(&Entry, Vec<Event>),
) -> Result<(Job, Projection), Failure> {
    fold::apart(id, || {
        let (mut replay, mut projection) = (Replay::of(id, entries), Projection::default());
        for entry in entries {
            let events = projection.replay(&mut replay, entry);
            each(entry, events);
        }
        (replay.into_job(), projection)
    })
}

struct Follower<'a> {
    observer: &'a Observer,
    job: Job,
    projection: Projection,
    feed: &'a watch::Sender<Feed>,
    /// Time at which the next view is due.
    due: Instant,
    /// Surroundings of the job when they were last observed.
    around: Surroundings,
    /// Reasons in the last view that hold the job.
    held: Vec<Reason>,
}

impl Follower<'_> {
    /// Folds new entries and publishes them, those before an error included.
    async fn take<E: Into<Failure>>(
        &mut self,
        entries: Vec<Result<Entry, E>>,
    ) -> Result<(), Failure> {
        let mut items = Vec::with_capacity(entries.len());
        let mut taken = Ok(());
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    taken = Err(error.into());
                    break;
                }
            };
            if entry.seq <= self.job.seq() {
                continue;
            }
            let events = match taken {
                Ok(()) => self.fold(&entry).await,
                Err(_) => Ok(Vec::new()),
            };
            let events = events.unwrap_or_else(|failure| {
                taken = Err(failure);
                Vec::new()
            });
            items.push(Item::new(entry, events));
        }
        match taken {
            Ok(()) => self.publish(items),
            Err(failure) => {
                self.feed.send_modify(|feed| items.into_iter().for_each(|item| feed.push(item)));
                Err(failure)
            }
        }
    }

    async fn fold(&mut self, entry: &Entry) -> Result<Vec<Event>, Failure> {
        let id = self.job.id().clone();
        let folded = fold::apart(&id, || self.projection.begin(&mut self.job, entry))?;
        fold::after_rollback(self.observer.log(), &mut self.job).await?;
        fold::apart(&id, || self.projection.end(folded, &self.job))
    }

    /// Publishes records at once, and a view if one is due.
    fn publish(&mut self, items: Vec<Item>) -> Result<(), Failure> {
        let is_due = Instant::now() >= self.due || self.job.outcome().is_some();
        let view = is_due.then(|| self.view()).transpose();
        self.feed.send_modify(|feed| {
            feed.is_current = true;
            items.into_iter().for_each(|item| feed.push(item));
            if let Ok(Some(view)) = &view {
                feed.show(view.clone());
            }
        });
        view.map(drop)
    }

    /// Observes the surroundings, and shows the job again if they hold it for another reason.
    async fn look(&mut self) -> Result<(), Failure> {
        self.observe().await;
        let why = fold::apart(self.job.id(), || self.job.why(&self.around))?;
        if holds(&why) != self.held { self.show() } else { Ok(()) }
    }

    async fn observe(&mut self) {
        self.around = self.observer.around(&self.job).await;
    }

    fn show(&mut self) -> Result<(), Failure> {
        let view = self.view()?;
        self.feed.send_modify(|feed| feed.show(view));
        Ok(())
    }

    fn view(&mut self) -> Result<Bytes, Failure> {
        let began = Instant::now();
        let mut view = fold::view(&self.job)?;
        // Queues change with every record, so their state serves one view only.
        view.why = fold::apart(self.job.id(), || self.job.why(&self.around))?;
        mem::take(&mut self.around.queues);
        self.held = holds(&view.why);
        let view = Box::new(truncate::view(view)?);
        let message = truncate::bytes(&Watched::View { view })?;
        let watchers = u32::try_from(self.feed.receiver_count()).unwrap_or(u32::MAX);
        let wait = began.elapsed().saturating_mul(VIEW_SHARE.saturating_add(watchers));
        self.due = Instant::now() + wait.min(VIEW_WAIT_MAX);
        Ok(message)
    }
}

/// Returns the reasons that hold the job, as opposed to work that runs.
fn holds(why: &[Why]) -> Vec<Reason> {
    let holding = why.iter().filter(|why| why.reason.is_hold());
    holding.map(|why| why.reason.clone()).collect()
}

/// Returns the events after a position and up to a record, which the feed no longer keeps.
pub(super) fn events_between(
    id: &JobId,
    entries: &[Entry],
    after: proto::event::EventId,
    until: Seq,
) -> Result<Vec<Event>, Failure> {
    let mut found = Vec::new();
    replay(id, entries, |entry, events| {
        if entry.seq <= until {
            found.extend(events.into_iter().filter(|event| event.id > after));
        }
    })?;
    Ok(found)
}
