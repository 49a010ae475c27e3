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
use proto::{door::Watched, error::Failure, event::EventId, id::JobId};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

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

/// The shared watches of a process.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedWatches(Arc<Mutex<Watches>>);

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
    Frames(Vec<Frame>),
    /// The next event is no longer kept, or the watch has failed for its opener.
    Behind,
    /// The job has ended.
    End,
    /// The front door was away for too long.
    Failed(Failure),
}

impl SharedWatches {
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
        // One that is over is never joined: an ended job may be rolled back.
        let is_over = watch.ring.borrow().end.is_some();
        (!is_over).then_some(watch)
    }

    fn lock(&self) -> MutexGuard<'_, Watches> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    fn of(watch: Arc<SharedWatch>) -> Self {
        let mut ring = watch.ring.clone();
        let joined = ring.borrow_and_update().next;
        Self { _watch: watch, ring, cursor: Cursor { next: 0, joined } }
    }

    /// Waits for frames after a position, and moves it behind them. Losing this future loses nothing.
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
    frames: VecDeque<(u64, Frame)>,
    /// Size of the frames.
    bytes: usize,
    /// Number of the next frame.
    next: u64,
    /// The ring has every event after this one.
    floor: EventId,
    /// The end of the watch.
    end: Option<Result<(), Failure>>,
}

impl Ring {
    /// An empty ring of a watch from a position on.
    fn after(position: EventId) -> Self {
        Self { frames: VecDeque::new(), bytes: 0, next: 0, floor: position, end: None }
    }

    /// Adds a frame, and drops the oldest ones beyond the bounds. A view replaces the one before.
    fn push(&mut self, frame: Frame) {
        if let Kind::View(_) = frame.kind {
            self.drop_where(|kind| matches!(kind, Kind::View(_)));
        }
        self.bytes += frame.bytes;
        self.frames.push_back((self.next, frame));
        self.next += 1;
        while (self.frames.len() > FRAMES_MAX || self.bytes > RING_BYTES_MAX)
            && self.frames.len() > 1
            && let Some((_, oldest)) = self.frames.pop_front()
        {
            self.dropped(&oldest);
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
                taken.push(frame.clone());
            }
        }
        if !taken.is_empty() {
            return Some(Next::Frames(taken));
        }
        match &self.end {
            None => None,
            Some(Ok(())) => Some(Next::End),
            Some(Err(failure)) if failure.code.is_temporary() => {
                Some(Next::Failed(failure.clone()))
            }
            // The opener may have lost its right, so each reader asks the front door for itself.
            Some(Err(_)) => Some(Next::Behind),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::response::sse::Event;
    use futures::{SinkExt, channel::mpsc};
    use proto::{error::Code, event::EventType, id::Seq};
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    /// A frame by its name: `3` or `3!` for the event of record 3, `v3` for its view, `live` for text.
    fn frame(name: &str, bytes: usize) -> Frame {
        let kind = match (name.strip_prefix('v'), name.strip_suffix('!')) {
            _ if name == "live" => Kind::Live,
            (Some(seq), _) => Kind::View(Seq(seq.parse().unwrap())),
            (None, Some(seq)) => Kind::Event(id(seq.parse().unwrap()), EventType::Plan),
            (None, None) => Kind::Event(id(name.parse().unwrap()), EventType::Job),
        };
        Frame { kind, event: Event::default(), bytes }
    }

    fn id(seq: u64) -> EventId {
        EventId::all_of(Seq(seq))
    }

    fn name(frame: &Frame) -> String {
        match frame.kind {
            Kind::Event(id, EventType::Plan) => format!("{}!", id.seq),
            Kind::Event(id, _) => id.seq.to_string(),
            Kind::View(seq) => format!("v{seq}"),
            Kind::Live => "live".to_owned(),
        }
    }

    fn ring(names: &str) -> Ring {
        let mut ring = Ring::after(id(0));
        names.split_whitespace().for_each(|name| ring.push(frame(name, 1)));
        ring
    }

    /// What a reader gets that has every event up to a record, and where it is then.
    fn taken(ring: &Ring, cursor: &mut Cursor, seq: u64, wanted: &Wanted) -> (String, u64) {
        let mut position = id(seq);
        let next = ring.take(cursor, &mut position, wanted);
        let text = match next {
            None => "wait".to_owned(),
            Some(Next::Behind) => "behind".to_owned(),
            Some(Next::End) => "end".to_owned(),
            Some(Next::Failed(failure)) => failure.code.to_string(),
            Some(Next::Frames(frames)) => frames.iter().map(name).collect::<Vec<_>>().join(" "),
        };
        (text, position.seq.0)
    }

    fn new() -> Cursor {
        Cursor { next: 0, joined: 0 }
    }

    #[rstest]
    #[case::events_after_the_position("1 2 3", 1, "2 3", 3)]
    #[case::nothing_new("1 2 3", 3, "wait", 3)]
    #[case::only_the_newest_view("1 v1 2 v2 3 v3", 0, "1 2 3 v3", 3)]
    #[case::a_view_between_its_events("1 v1 2 v2 3", 0, "1 2 v2 3", 3)]
    #[case::no_view_before_the_last_event("1 v1", 4, "wait", 4)]
    #[case::the_view_after_the_last_event("1 v4", 4, "v4", 4)]
    #[case::text_in_its_place("1 live 2", 0, "1 live 2", 2)]
    fn a_reader_gets_what_follows(
        #[case] frames: &str,
        #[case] position: u64,
        #[case] gets: &str,
        #[case] then: u64,
    ) {
        let mut cursor = new();
        let all = Wanted::of(Vec::new());
        let got = taken(&ring(frames), &mut cursor, position, &all);
        assert_eq!(got, (gets.to_owned(), then));
        let again = taken(&ring(frames), &mut cursor, then, &all);
        assert_eq!(again, ("wait".to_owned(), then), "nothing comes twice");
    }

    #[test]
    fn a_reader_moves_behind_events_that_it_does_not_want() {
        let wanted = Wanted::of(vec![EventType::Plan]);
        let got = taken(&ring("1 2! 3"), &mut new(), 0, &wanted);
        assert_eq!(got, ("2!".to_owned(), 3));
    }

    #[test]
    fn text_from_before_a_reader_came_is_left_out() {
        let mut ring = ring("1 live");
        let mut cursor = Cursor { next: 0, joined: ring.next };
        ring.push(frame("live", 1));
        let all = Wanted::of(Vec::new());
        assert_eq!(taken(&ring, &mut cursor, 0, &all), ("1 live".to_owned(), 1));
    }

    #[rstest]
    #[case::more_frames_than_are_kept(FRAMES_MAX + 1, 1, FRAMES_MAX)]
    #[case::as_many_frames_as_are_kept(FRAMES_MAX, 1, FRAMES_MAX)]
    #[case::more_bytes_than_are_kept(3, RING_BYTES_MAX / 2, 2)]
    #[case::one_frame_above_the_size(2, 2 * RING_BYTES_MAX, 1)]
    fn a_ring_keeps_the_last_frames_within_its_bounds(
        #[case] pushed: usize,
        #[case] bytes: usize,
        #[case] kept: usize,
    ) {
        let mut ring = Ring::after(id(0));
        for n in 1..=pushed {
            ring.push(frame(&n.to_string(), bytes));
        }
        assert_eq!((ring.frames.len(), ring.bytes), (kept, kept * bytes));
        let dropped = (pushed - kept) as u64;
        let all = Wanted::of(Vec::new());
        assert_ne!(taken(&ring, &mut new(), dropped, &all).0, "behind");
        if let Some(before) = dropped.checked_sub(1) {
            assert_eq!(taken(&ring, &mut new(), before, &all).0, "behind");
        }
    }

    #[test]
    fn a_silent_ring_keeps_the_view_only() {
        let mut ring = ring("1 live 2 v2");
        ring.shrink();
        assert_eq!((ring.frames.len(), ring.bytes), (1, 1));
        let all = Wanted::of(Vec::new());
        assert_eq!(taken(&ring, &mut new(), 1, &all).0, "behind");
        ring.push(frame("3", 1));
        assert_eq!(taken(&ring, &mut new(), 2, &all).0, "v2 3");
    }

    #[rstest]
    #[case::a_job_that_ended(Ok(()), "end")]
    #[case::a_front_door_that_is_away(Err(Code::Unavailable), "unavailable")]
    #[case::an_opener_without_its_right(Err(Code::Forbidden), "behind")]
    fn the_end_comes_after_the_frames(#[case] end: Result<(), Code>, #[case] tells: &str) {
        let mut ring = ring("1");
        ring.end = Some(end.map_err(|code| Failure::new(code, "why")));
        let (mut cursor, all) = (new(), Wanted::of(Vec::new()));
        assert_eq!(taken(&ring, &mut cursor, 0, &all).0, "1");
        assert_eq!(taken(&ring, &mut cursor, 1, &all).0, tells);
    }

    type Item = Result<Watched, Failure>;

    fn event(id: &str) -> Item {
        let event =
            json!({"id": id, "time": "2026-03-01T09:00:00Z", "type": "job", "state": "working"});
        Ok(serde_json::from_value(json!({"type": "event", "event": event})).unwrap())
    }

    async fn next(place: &mut Place, position: &mut EventId) -> String {
        match place.next(position, &Wanted::of(Vec::new())).await {
            Next::Frames(frames) => frames.iter().map(name).collect::<Vec<_>>().join(" "),
            other => format!("{other:?}").to_lowercase(),
        }
    }

    #[tokio::test]
    async fn readers_of_a_job_share_a_watch_until_the_last_has_gone_or_it_is_over() {
        let (watches, job) = (SharedWatches::default(), JobId::new("j").unwrap());
        let (mut sender, items) = mpsc::unbounded::<Item>();
        assert!(!watches.has(&job, false));
        let mut first = watches.join(&job, false, id(0), || items);
        let unopened = || -> mpsc::UnboundedReceiver<Item> { panic!("there is a watch") };
        let mut second = watches.join(&job, false, id(1), unopened);
        assert!(watches.has(&job, false) && !watches.has(&job, true));
        sender.send(event("1.0")).await.unwrap();
        sender.send(event("2.0")).await.unwrap();
        let mut positions = [id(0), "1.0".parse().unwrap()];
        let mut got = Vec::new();
        while positions[0].seq < Seq(2) {
            got.push(next(&mut first, &mut positions[0]).await);
        }
        assert_eq!(got.join(" "), "1 2");
        assert_eq!(next(&mut second, &mut positions[1]).await, "2");
        sender.send(Ok(Watched::End { error: None })).await.unwrap();
        assert_eq!(next(&mut first, &mut positions[0]).await, "end");
        assert!(!watches.has(&job, false), "a watch that is over takes no readers");

        let (sender, items) = mpsc::unbounded::<Item>();
        let third = watches.join(&job, false, id(2), || items);
        assert!(watches.has(&job, false));
        drop((first, second));
        assert!(watches.has(&job, false) && !sender.is_closed());
        drop(third);
        assert!(!watches.has(&job, false), "nobody reads");
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_takes_nothing_while_its_job_is_silent_is_behind() {
        let (watches, job) = (SharedWatches::default(), JobId::new("j").unwrap());
        let (mut sender, items) = mpsc::unbounded::<Item>();
        let mut place = watches.join(&job, false, id(0), || items);
        sender.send(event("1.0")).await.unwrap();
        tokio::time::sleep(KEPT_FOR * 2).await;
        assert_eq!(next(&mut place, &mut id(0)).await, "behind");
    }
}
