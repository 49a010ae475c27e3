//! Tests of shared watches and their rings.

use axum::response::sse::Event;
use futures::{SinkExt, channel::mpsc};
use proto::event::EventType;
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

fn names(frames: &[Arc<Frame>]) -> String {
    frames.iter().map(|frame| name(frame)).collect::<Vec<_>>().join(" ")
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
        Some(Next::Frames(frames)) => names(&frames),
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
#[case::an_opener_with_too_many_watches(Err(Code::Overloaded), "behind")]
fn the_end_comes_after_the_frames(#[case] end: Result<(), Code>, #[case] tells: &str) {
    let mut ring = ring("1");
    ring.end = Some(end.map_err(|code| Failure::new(code, "why")));
    let (mut cursor, all) = (new(), Wanted::of(Vec::new()));
    assert_eq!(taken(&ring, &mut cursor, 0, &all).0, "1");
    assert_eq!(taken(&ring, &mut cursor, 1, &all).0, tells);
}

#[test]
fn an_end_before_what_a_reader_has_ends_nothing() {
    let mut ring = ring("1 v1");
    ring.end = Some(Ok(()));
    let all = Wanted::of(Vec::new());
    assert_eq!(taken(&ring, &mut new(), 2, &all).0, "behind");
}

#[test]
fn text_never_takes_the_place_of_the_view() {
    let mut ring = ring("9 v9");
    (0..=FRAMES_MAX).for_each(|_| ring.push(frame("live", 1)));
    let mut cursor = Cursor { next: 0, joined: ring.next };
    let all = Wanted::of(Vec::new());
    assert_eq!(taken(&ring, &mut cursor, 9, &all).0, "v9");
    assert_eq!(ring.frames.len(), FRAMES_MAX);
}

type Item = Result<Watched, Failure>;

fn event(id: &str) -> Item {
    let event =
        json!({"id": id, "time": "2026-03-01T09:00:00Z", "type": "job", "state": "working"});
    Ok(serde_json::from_value(json!({"type": "event", "event": event})).unwrap())
}

async fn next(place: &mut Place, position: &mut EventId) -> String {
    match place.next(position, &Wanted::of(Vec::new())).await {
        Next::Frames(frames) => names(&frames),
        end @ (Next::Behind | Next::End | Next::Failed(_)) => format!("{end:?}").to_lowercase(),
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

#[tokio::test(start_paused = true)]
async fn readers_take_turns_and_nobody_keeps_one() {
    let watches = SharedWatches::default();
    let begun = tokio::time::Instant::now();
    let mut turns = Vec::new();
    for _ in 0..OPENING_MAX {
        turns.push(watches.turn().await);
    }
    turns.pop();
    turns.push(watches.turn().await);
    assert_eq!(begun.elapsed(), Duration::ZERO, "a turn that is given back is free");
    let next = watches.turn().await;
    assert_eq!(begun.elapsed().as_secs(), TURN.as_secs(), "turns end by themselves");
    drop((turns, next));
}
