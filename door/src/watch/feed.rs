//! The feed of a watched job: its last records with their events, its last view, and the end of the
//! watch.
//!
//! A feed keeps records within a bound that all feeds share. Older records are in the log.

use std::{
    collections::VecDeque,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use proto::{
    door::Watched,
    entry::Entry,
    error::{Code, Failure},
    event::{Event, EventId},
    id::Seq,
    record::Body,
    refusal::Text,
};

use crate::truncate;

/// Bytes that a kept record takes in addition to its body.
const OVERHEAD: usize = 512;
/// Limit on the records that a watcher takes at a time.
pub(super) const BURST: usize = 256;

/// The memory that the feeds of a process share.
#[derive(Debug)]
pub(super) struct Memory {
    /// Bytes that all feeds keep now.
    kept: AtomicUsize,
    /// Limit on those bytes.
    max: usize,
}

impl Memory {
    /// Creates a shared memory of `max` bytes.
    pub(super) fn of(max: usize) -> Self {
        Self { kept: AtomicUsize::new(0), max }
    }

    /// Returns the bytes that every feed may keep, whatever the others take.
    fn of_each(&self) -> usize {
        self.max / 1024
    }
}

/// The state of a watched job, up to the last record read.
#[derive(Debug)]
pub(super) struct Feed {
    /// Last folded record; 0 before the first.
    pub(super) seq: Seq,
    /// `true` once everything was published that was stored when the feed began.
    pub(super) is_current: bool,
    /// Last records, in order.
    items: VecDeque<Arc<Item>>,
    /// Last record that is no longer kept.
    dropped: Seq,
    bytes: usize,
    memory: Arc<Memory>,
    /// View of the job after a record, as a message.
    view: Option<(ViewId, Bytes)>,
    /// End of the feed: the job has ended, or a failure.
    pub(super) end: Option<Result<(), Failure>>,
}

/// The next message for a watcher.
#[derive(Debug)]
pub(super) enum Next {
    /// Kept records.
    Items(Vec<Arc<Item>>),
    /// Records up to this position, which only the log has.
    Missed(Seq),
    /// The job's view after a record.
    View(ViewId, Bytes),
    /// The watch is over.
    End(Result<(), Failure>),
    /// Nothing for the moment.
    Wait,
}

/// The identity of a view: the record after which it was computed, and the number of earlier views
/// after the same record. The surroundings of a job change without a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ViewId {
    seq: Seq,
    earlier: u32,
}

impl Feed {
    pub(super) fn new(memory: Arc<Memory>) -> Self {
        Self {
            seq: Seq(0),
            is_current: false,
            items: VecDeque::new(),
            dropped: Seq(0),
            bytes: 0,
            memory,
            view: None,
            end: None,
        }
    }

    pub(super) fn push(&mut self, item: Item) {
        let bytes = item.bytes();
        self.seq = item.entry.seq;
        self.items.push_back(Arc::new(item));
        self.bytes += bytes;
        let mut kept = self.memory.kept.fetch_add(bytes, Ordering::Relaxed) + bytes;
        while kept > self.memory.max
            && self.bytes > self.memory.of_each()
            && let Some(oldest) = self.items.pop_front()
        {
            let bytes = oldest.bytes();
            self.dropped = oldest.entry.seq;
            self.bytes -= bytes;
            kept = self.memory.kept.fetch_sub(bytes, Ordering::Relaxed) - bytes;
        }
    }

    /// Sets the view after the last record.
    pub(super) fn show(&mut self, view: Bytes) {
        let before = self.view.as_ref().filter(|(id, _)| id.seq == self.seq);
        let earlier = before.map_or(0, |(id, _)| id.earlier.saturating_add(1));
        self.view = Some((ViewId { seq: self.seq, earlier }, view));
    }

    /// Returns `true` if the view after the last record is set.
    pub(super) fn is_shown(&self) -> bool {
        self.view.as_ref().is_some_and(|(id, _)| id.seq == self.seq)
    }

    /// Returns what follows for a watcher that has taken every event up to `taken` and the view
    /// `viewed`. A view older than the record `stored` is not sent.
    pub(super) fn next(&self, taken: EventId, viewed: Option<ViewId>, stored: Seq) -> Next {
        let view = self.view.as_ref().filter(|(id, _)| Some(*id) > viewed && id.seq >= stored);
        // A view comes after its records and before the ones that follow.
        let until = view.map_or(self.seq, |(id, _)| id.seq);
        if taken < EventId::all_of(until) {
            if self.dropped > Seq(0) && taken < EventId::all_of(self.dropped) {
                return Next::Missed(until);
            }
            let from = self.items.partition_point(|item| EventId::all_of(item.entry.seq) <= taken);
            let items = self.items.range(from..).take_while(|item| item.entry.seq <= until);
            let items: Vec<_> = items.take(BURST).cloned().collect();
            if !items.is_empty() {
                return Next::Items(items);
            }
        }
        match (view, &self.end) {
            (Some((id, view)), _) => Next::View(*id, view.clone()),
            (None, Some(Ok(()))) if stored > self.seq => {
                Next::End(Err(again(Text::RecordsAfterEnd)))
            }
            (None, Some(end)) => Next::End(end.clone()),
            (None, None) => Next::Wait,
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.memory.kept.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A record and its events.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) entry: Entry,
    events: Vec<(EventId, Result<Bytes, Failure>)>,
    record: OnceLock<Result<Bytes, Failure>>,
}

impl Item {
    pub(super) fn new(entry: Entry, events: Vec<Event>) -> Self {
        let written = |event: Event| (event.id, event_message(event));
        let events = events.into_iter().map(written).collect();
        Self { entry, events, record: OnceLock::new() }
    }

    /// Returns the record as a message. It is serialised once, for the first watcher that needs it.
    pub(super) fn record(&self) -> Result<Bytes, Failure> {
        self.record.get_or_init(|| record_message(&self.entry)).clone()
    }

    /// Returns the events after a position, as messages.
    pub(super) fn events_after(
        &self,
        after: EventId,
    ) -> impl Iterator<Item = Result<Bytes, Failure>> {
        self.events.iter().filter(move |(id, _)| *id > after).map(|(_, event)| event.clone())
    }

    /// Returns the approximate memory that the item takes.
    fn bytes(&self) -> usize {
        let record = match self.entry.record.as_ref().map(|record| &record.body) {
            Ok(Body::Inline(body)) => body.get().len(),
            Ok(Body::Stored(_)) | Err(_) => 0,
        };
        let events = self.events.iter().map(|(_, event)| event.as_ref().map_or(0, Bytes::len));
        OVERHEAD + 2 * record + events.sum::<usize>()
    }
}

/// Returns an event as a message.
pub(super) fn event_message(event: Event) -> Result<Bytes, Failure> {
    let event = Box::new(truncate::event(event)?);
    truncate::bytes(&Watched::Event { event })
}

/// Returns a record as a message.
pub(super) fn record_message(entry: &Entry) -> Result<Bytes, Failure> {
    truncate::bytes(&Watched::Record {
        seq: entry.seq,
        family: entry.family.to_string(),
        time: entry.time,
        record: truncate::record(&entry.record),
    })
}

/// Returns the error that makes a watcher reconnect; the job itself is sound.
pub(super) fn again(why: Text<'_>) -> Failure {
    let hint = "Watch again, with `after` set to the last position you saw.";
    Failure::of(Code::Unavailable, why).advise(hint)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proto::{fact::Source, id::JobId, record::Unreadable, subject::Family};
    use rstest::rstest;

    use super::*;

    /// Returns a feed with records 3, 5, 7 and 9, and the view after record 7. Each record takes
    /// [`OVERHEAD`] bytes.
    fn feed(memory: usize) -> Feed {
        let mut feed = Feed::new(Arc::new(Memory::of(memory)));
        for seq in [3, 5, 7, 9] {
            let (job, family) = (JobId::new("j").unwrap(), Family::In(Source::Crew));
            let (time, record) = (Timestamp::UNIX_EPOCH, Err(Unreadable::Forged));
            let entry = Entry { seq: Seq(seq), time, job, family, record, trace: None };
            feed.push(Item::new(entry, Vec::new()));
            if seq == 7 {
                feed.show(Bytes::from_static(b"view"));
            }
        }
        feed
    }

    fn next(feed: &Feed, taken: u64, viewed: Option<u64>, stored: u64) -> String {
        let taken = EventId::all_of(Seq(taken));
        let viewed = viewed.map(|seq| ViewId { seq: Seq(seq), earlier: 0 });
        match feed.next(taken, viewed, Seq(stored)) {
            Next::Items(items) => {
                format!("{:?}", items.iter().map(|i| i.entry.seq.0).collect::<Vec<_>>())
            }
            Next::Missed(until) => format!("missed to {until}"),
            Next::View(ViewId { seq, earlier: 0 }, _) => format!("view {seq}"),
            Next::View(ViewId { seq, .. }, _) => format!("another view {seq}"),
            Next::End(Ok(())) => "end".to_owned(),
            Next::End(Err(_)) => "again".to_owned(),
            Next::Wait => "wait".to_owned(),
        }
    }

    #[rstest]
    #[case::records_up_to_the_view(0, None, 0, "[3, 5, 7]")]
    #[case::the_view_after_its_records(7, None, 0, "view 7")]
    #[case::records_after_the_view(7, Some(7), 0, "[9]")]
    #[case::nothing_for_now(9, Some(7), 0, "wait")]
    #[case::no_view_that_is_too_old(0, None, 9, "[3, 5, 7, 9]")]
    #[case::nothing_after_those(9, None, 9, "wait")]
    #[case::only_records_after_a_position(4, None, 0, "[5, 7]")]
    #[case::the_view_for_a_position_to_come(50, None, 0, "view 7")]
    fn a_watcher_gets_what_follows(
        #[case] taken: u64,
        #[case] viewed: Option<u64>,
        #[case] stored: u64,
        #[case] gets: &str,
    ) {
        assert_eq!(next(&feed(usize::MAX), taken, viewed, stored), gets);
    }

    #[test]
    fn a_watcher_that_has_no_event_misses_none_if_the_feed_keeps_all() {
        let next = feed(usize::MAX).next(EventId::default(), None, Seq(0));
        assert!(matches!(next, Next::Items(items) if items.len() == 3));
    }

    #[test]
    fn another_view_after_the_same_record_is_sent_too() {
        let mut feed = feed(usize::MAX);
        for gets in ["view 9", "another view 9"] {
            feed.show(Bytes::from_static(b"view"));
            assert_eq!(next(&feed, 9, Some(if gets == "view 9" { 7 } else { 9 }), 0), gets);
        }
    }

    #[test]
    fn the_end_comes_after_everything_else() {
        let mut feed = feed(usize::MAX);
        feed.end = Some(Ok(()));
        assert_eq!(next(&feed, 7, None, 9), "[9]");
        assert_eq!(next(&feed, 9, None, 0), "view 7");
        assert_eq!(next(&feed, 9, None, 9), "end");
        assert_eq!(next(&feed, 9, Some(7), 0), "end");
        // A rollback may be among the records after the end, so the watcher reconnects.
        assert_eq!(next(&feed, 9, None, 11), "again");
    }

    #[test]
    fn what_a_feed_keeps_no_longer_is_missed_and_memory_comes_back() {
        let memory = Arc::new(Memory::of(2 * OVERHEAD));
        let mut kept = feed(2 * OVERHEAD);
        assert_eq!(next(&kept, 3, None, 0), "missed to 7");
        assert_eq!(next(&kept, 5, None, 0), "[7]");
        kept.memory = Arc::clone(&memory);
        memory.kept.store(kept.bytes, Ordering::Relaxed);
        drop(kept);
        assert_eq!(memory.kept.load(Ordering::Relaxed), 0);
    }
}
