//! Watches that all readers of a job share: an event is read, parsed and written once for all of
//! them.
//!
//! A shared watch has the token of the reader that opened it, and lasts while it has a reader. It
//! keeps its last frames in a ring of bounded length and size. A reader takes them at its own pace;
//! one for which the ring no longer has the next event is told so, and reads from the front door.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use futures::{Stream, StreamExt};
use proto::{
    door::Watched,
    error::{Code, Failure},
    event::EventId,
    id::{JobId, Seq},
};
use tokio::sync::{Semaphore, watch};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::AbortOnDropHandle,
};

use super::{
    Wanted,
    frame::{Frame, Kind},
};

/// Largest number of frames that a ring keeps.
const FRAMES_MAX: usize = 256;
/// Largest size of the frames that a ring keeps, in bytes. A larger frame is kept alone.
const RING_BYTES_MAX: usize = 512 * 1024;
/// Largest number of frames that a reader takes at a time.
const BURST: usize = 64;
/// Time after which a ring drops frames that a slow reader has not taken.
const KEPT_FOR: Duration = Duration::from_secs(5);

/// Largest number of readers that read what is stored at a time. What their watches hold meanwhile
/// is many times what a reader of a shared watch needs.
const OPENING_MAX: usize = 64;
/// Longest time for which a reader keeps its turn to read what is stored. Some readers take nothing.
const TURN: Duration = Duration::from_secs(2);

/// The shared watches of a process.
#[derive(Debug, Clone)]
pub(crate) struct SharedWatches {
    watches: Arc<Mutex<Watches>>,
    turns: Arc<Semaphore>,
}

/// A reader's turn to read what is stored, until this value is dropped or the turn is over.
#[derive(Debug)]
pub(super) struct Turn {
    _over: DropGuard,
}

/// The watches of jobs, with the text of work in progress (`true`) and without.
type Watches = HashMap<(JobId, bool), Weak<SharedWatch>>;

/// The watch of a job, until its last reader drops it.
#[derive(Debug)]
struct SharedWatch {
    ring: watch::Receiver<Ring>,
    _follower: AbortOnDropHandle<()>,
}

/// A reader's place in a shared watch.
#[derive(Debug)]
pub(super) struct Place {
    _watch: Arc<SharedWatch>,
    ring: watch::Receiver<Ring>,
    cursor: Cursor,
}

/// The frames that a reader has.
#[derive(Debug)]
struct Cursor {
    /// Number of the first frame that the reader has not seen.
    next: u64,
    /// Number of the first frame after the reader joined. Earlier text of work in progress is stale.
    joined: u64,
}

/// What follows for a reader.
#[derive(Debug)]
pub(super) enum Next {
    /// Frames.
    Frames(Vec<Arc<Frame>>),
    /// The watch does not have what follows: the reader is too slow, or the watch has failed for its
    /// opener alone.
    Behind,
    /// The job has ended.
    End,
    /// The front door was away for too long.
    Failed(Failure),
}

impl Default for SharedWatches {
    fn default() -> Self {
        Self { watches: Arc::default(), turns: Arc::new(Semaphore::new(OPENING_MAX)) }
    }
}

impl SharedWatches {
    /// Waits for a reader's turn to read what is stored.
    pub(super) async fn turn(&self) -> Turn {
        let permit = Arc::clone(&self.turns).acquire_owned().await;
        let over = CancellationToken::new();
        let is_over = over.clone().cancelled_owned();
        tokio::spawn(async move {
            let _ = tokio::time::timeout(TURN, is_over).await;
            drop(permit);
        });
        Turn { _over: over.drop_guard() }
    }

    /// `true` if the job has a shared watch now.
    pub(super) fn has(&self, job: &JobId, live: bool) -> bool {
        Self::open(&self.lock(), job, live).is_some()
    }

    /// Returns a reader's place in the watch of a job. Where nobody watches it, the watch of `items`
    /// begins. They, and the reader, have all events up to `position`.
    pub(super) fn join<I>(
        &self,
        job: &JobId,
        live: bool,
        position: EventId,
        items: impl FnOnce() -> I,
    ) -> Place
    where
        I: Stream<Item = Result<Watched, Failure>> + Send + 'static,
    {
        let mut watches = self.lock();
        if let Some(watch) = Self::open(&watches, job, live) {
            return Place::of(watch);
        }
        watches.retain(|_, watch| watch.strong_count() > 0);
        let (sender, ring) = watch::channel(Ring::after(position));
        let follower = tokio::spawn(follow(items(), sender));
        let watch = Arc::new(SharedWatch { ring, _follower: AbortOnDropHandle::new(follower) });
        watches.insert((job.clone(), live), Arc::downgrade(&watch));
        Place::of(watch)
    }

    fn open(watches: &Watches, job: &JobId, live: bool) -> Option<Arc<SharedWatch>> {
        let watch = watches.get(&(job.clone(), live))?.upgrade()?;
        // One that is over is never joined: an ended job may be rolled back. A follower that panicked
        // has set no end.
        let is_over = watch.ring.borrow().end.is_some() || watch.ring.has_changed().is_err();
        (!is_over).then_some(watch)
    }

    fn lock(&self) -> MutexGuard<'_, Watches> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    fn of(watch: Arc<SharedWatch>) -> Self {
        let mut ring = watch.ring.clone();
        let joined = ring.borrow_and_update().next;
        Self { _watch: watch, ring, cursor: Cursor { next: 0, joined } }
    }

    /// Waits for frames after a position, and moves it behind them. Dropping this future loses nothing.
    pub(super) async fn next(&mut self, position: &mut EventId, wanted: &Wanted) -> Next {
        loop {
            let next = self.ring.borrow_and_update().take(&mut self.cursor, position, wanted);
            if let Some(next) = next {
                return next;
            }
            // A follower that is gone has set the end, unless it panicked.
            if self.ring.changed().await.is_err() && self.ring.borrow().end.is_none() {
                return Next::Behind;
            }
        }
    }
}

/// Fills the ring until the watch ends.
async fn follow(items: impl Stream<Item = Result<Watched, Failure>>, ring: watch::Sender<Ring>) {
    let mut items = std::pin::pin!(items.ready_chunks(BURST));
    loop {
        let items = match tokio::time::timeout(KEPT_FOR, items.next()).await {
            Ok(Some(items)) => items,
            Ok(None) => return,
            Err(_) => {
                ring.send_if_modified(Ring::shrink);
                continue;
            }
        };
        let (mut frames, mut end) = (Vec::with_capacity(items.len()), None);
        for item in items {
            match item {
                Ok(Watched::End { error: None }) => end = Some(Ok(())),
                Ok(Watched::End { error: Some(failure) }) => end = Some(Err(*failure)),
                Err(failure) => end = Some(Err(failure)),
                Ok(item) => frames.extend(Frame::of(&item)),
            }
        }
        ring.send_modify(|ring| {
            frames.into_iter().for_each(|frame| ring.push(frame));
            ring.end = end;
        });
    }
}

/// The last frames of a watch.
#[derive(Debug)]
struct Ring {
    /// Frames in order, with their numbers.
    frames: VecDeque<(u64, Arc<Frame>)>,
    /// Size of the frames.
    bytes: usize,
    /// Number of the next frame.
    next: u64,
    /// The ring has every event after this one.
    floor: EventId,
    /// The last record of which the watch told.
    reached: Seq,
    /// The end of the watch.
    end: Option<Result<(), Failure>>,
}

impl Ring {
    /// An empty ring of a watch from a position on.
    fn after(position: EventId) -> Self {
        let reached = position.seq;
        Self { frames: VecDeque::new(), bytes: 0, next: 0, floor: position, reached, end: None }
    }

    /// Adds a frame, and drops the oldest ones beyond the bounds. A view replaces the one before, and is
    /// dropped for nothing else.
    fn push(&mut self, frame: Frame) {
        match frame.kind {
            Kind::Event(id, _) => self.reached = self.reached.max(id.seq),
            Kind::View(seq) => {
                self.reached = self.reached.max(seq);
                self.drop_where(|kind| matches!(kind, Kind::View(_)));
            }
            Kind::Live => {}
        }
        self.bytes += frame.bytes;
        self.frames.push_back((self.next, Arc::new(frame)));
        self.next += 1;
        while self.frames.len() > FRAMES_MAX || self.bytes > RING_BYTES_MAX {
            let is_view = |(_, frame): &(u64, Arc<Frame>)| matches!(frame.kind, Kind::View(_));
            let oldest = usize::from(self.frames.front().is_some_and(is_view));
            // The newest frame is kept, whatever its size.
            if oldest + 1 >= self.frames.len() {
                break;
            }
            if let Some((_, frame)) = self.frames.remove(oldest) {
                self.dropped(&frame);
            }
        }
    }

    fn drop_where(&mut self, is_old: impl Fn(Kind) -> bool) {
        let frames = std::mem::take(&mut self.frames);
        for (number, frame) in frames {
            if is_old(frame.kind) {
                self.dropped(&frame);
            } else {
                self.frames.push_back((number, frame));
            }
        }
    }

    fn dropped(&mut self, frame: &Frame) {
        self.bytes -= frame.bytes;
        if let Kind::Event(id, _) = frame.kind {
            self.floor = id;
        }
    }

    /// Drops everything but the view. Returns `false`, because no reader needs to know.
    fn shrink(&mut self) -> bool {
        self.drop_where(|kind| !matches!(kind, Kind::View(_)));
        self.frames.shrink_to_fit();
        false
    }

    /// Takes what follows for a reader that has all events up to `position`; `None` if nothing does.
    fn take(&self, cursor: &mut Cursor, position: &mut EventId, wanted: &Wanted) -> Option<Next> {
        if *position < self.floor {
            return Some(Next::Behind);
        }
        let from = self.frames.partition_point(|(number, _)| *number < cursor.next);
        let mut taken = Vec::new();
        for (number, frame) in self.frames.range(from..) {
            if taken.len() == BURST {
                break;
            }
            cursor.next = number + 1;
            let is_due = match frame.kind {
                Kind::Event(id, kind) => {
                    let is_new = id > *position;
                    *position = id.max(*position);
                    is_new && wanted.has(kind)
                }
                // A reader never goes back to a view before its last event.
                Kind::View(seq) => seq >= position.seq,
                Kind::Live => *number >= cursor.joined,
            };
            if is_due {
                taken.push(Arc::clone(frame));
            }
        }
        if !taken.is_empty() {
            return Some(Next::Frames(taken));
        }
        match &self.end {
            None => None,
            // The reader knows of records after that end: the job goes on.
            Some(Ok(())) if position.seq > self.reached => Some(Next::Behind),
            Some(Ok(())) => Some(Next::End),
            Some(Err(failure)) if [Code::Unavailable, Code::Timeout].contains(&failure.code) => {
                Some(Next::Failed(failure.clone()))
            }
            // The opener may have lost its right or have too many watches, so each reader asks the
            // front door for itself.
            Some(Err(_)) => Some(Next::Behind),
        }
    }
}

#[cfg(test)]
mod tests;
