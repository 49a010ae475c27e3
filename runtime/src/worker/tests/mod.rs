//! Tests of the worker loop's guarantees.

mod local;
mod stage;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use broker::{
    log::{CasOutcome, Delivery, Depth, LogError},
    memory::{self, MemoryOptions},
    testing::Lines,
};
use futures::StreamExt;
use proto::{
    decision::{DecisionKind, pools},
    entry::Entry,
    fact::{Fact, Signal, Signaled},
    id::Seq,
    record::Record,
    subject::{Family, Subjects},
    tool::{Effect, Fault, ToolResult},
    wire::{self, Live, LiveUpdate},
};
use ractor::Actor;
use rstest::rstest;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::Level;

use self::stage::*;
use super::*;
use crate::{
    config::Section as _,
    telemetry::{
        self, Identity, Sink,
        settings::{Log, Telemetry},
    },
};

#[tokio::test(start_paused = true)]
async fn a_result_is_stored_before_its_command_is_acknowledged() {
    let mut stage = stage(4).await;
    stage.call("fine", Effect::Pure);
    let stored = stage.next().await;
    assert_eq!(stage.stored(&stored).result, ToolResult::ok("fine".into()));
    assert_eq!(stage.next().await, Seen::Done);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!((stage.gauge.load().in_flight, stage.gauge.load().capacity), (0, 4));
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_reported_and_touches_no_other_task() {
    let mut stage = stage(4).await;
    stage.call("wait", Effect::Pure);
    stage.call("panic", Effect::Pure);
    let stored = stage.next().await;
    let called = stage.stored(&stored);
    assert_eq!(called.fault, Some(Fault::Internal));
    assert!(called.result.error.unwrap().contains("the tool broke"));
    assert_eq!(stage.next().await, Seen::Done);
    stage.release.notify_one();
    let stored = stage.next().await;
    assert!(stage.stored(&stored).result.success);
}

#[rstest]
#[case::the_place_of_a_panic(Level::INFO, false)]
#[case::its_words_when_they_are_asked_for(Level::DEBUG, true)]
#[tokio::test(start_paused = true)]
async fn what_a_panic_said_is_in_the_log_only_at_debug(#[case] level: Level, #[case] said: bool) {
    let (lines, _guard) = Lines::of(level);
    let mut stage = stage(1).await;
    stage.call("panic", Effect::Pure);
    assert!(matches!(stage.next().await, Seen::Stored(_)));
    let logged = lines.text();
    assert!(logged.contains("a task panicked"), "{logged}");
    assert_eq!(logged.contains("the tool broke"), said, "{logged}");
}

/// An unreadable record, with users' content in the place that is invalid.
fn misfit() -> Entry {
    let text =
        br#"{"v":1,"kind":"call","id":"r","by":"w","body":{"work":"g0.s1","attempt":"canary"}}"#;
    let family = Family::Do(DecisionKind::Call, pools::builtin());
    entry(5, family, Record::from_slice(text).unwrap())
}

#[rstest]
#[case::the_place(Level::INFO, false)]
#[case::the_words_when_they_are_asked_for(Level::DEBUG, true)]
#[tokio::test(start_paused = true)]
async fn what_stands_in_a_command_that_cannot_be_read_is_in_the_log_only_at_debug(
    #[case] level: Level,
    #[case] said: bool,
) {
    let (lines, _guard) = Lines::of(level);
    let mut stage = stage(1).await;
    stage.give(misfit(), 1);
    assert!(matches!(stage.next().await, Seen::Later(_)));
    let logged = lines.text();
    assert!(logged.contains("does not fit at attempt"), "{logged}");
    assert_eq!(logged.contains("canary"), said, "{logged}");
}

/// Metrics are global, so this test needs a process of its own, as `cargo nextest` gives it.
#[tokio::test(start_paused = true)]
async fn a_command_that_cannot_be_read_is_counted_once_however_often_it_comes() {
    let identity = Identity { worker: by(), roles: Vec::new(), version: "0".into() };
    let (export, log) = (Telemetry::defaults(), Log::defaults());
    let telemetry = telemetry::start(&export, &log, Sink::StandardError, &identity).unwrap();
    let mut stage = stage(1).await;
    for delivered in 1..=3 {
        stage.give(misfit(), delivered);
        assert!(matches!(stage.next().await, Seen::Later(_)));
    }
    let text = telemetry.prometheus().unwrap();
    let counted = text
        .lines()
        .find(|line| line.starts_with("callboard_dead_letters") && line.contains("unreadable"));
    assert!(counted.is_some_and(|line| line.ends_with(" 1")), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_command_is_kept_alive_three_times_per_wait_and_no_longer_than_it_runs() {
    let mut stage = stage(1).await;
    stage.call("wait", Effect::Pure);
    tokio::time::sleep(ACK_WAIT * 2 + Duration::from_secs(1)).await;
    stage.release.notify_one();
    let mut beats = 0;
    while stage.seen.recv().await.unwrap() == Seen::Working {
        beats += 1;
    }
    assert_eq!(beats, 6);
    assert_eq!(stage.next().await, Seen::Done);
    tokio::time::sleep(ACK_WAIT * 3).await;
    assert!(stage.seen.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_result_is_stored_however_long_the_log_is_away() {
    let mut stage = stage(1).await;
    let away = LogError::Unavailable("no leader".into());
    stage.log.refusals.lock().unwrap().extend(vec![away; 20]);
    stage.call("fine", Effect::Pure);
    let mut beats = 0;
    let stored = loop {
        match stage.seen.recv().await.unwrap() {
            Seen::Working => beats += 1,
            seen @ (Seen::Stored(_) | Seen::Done | Seen::Later(_)) => break seen,
        }
    };
    assert!(stage.stored(&stored).result.success);
    assert!(beats >= 5, "the command was kept alive {beats} times");
    assert_eq!(stage.next().await, Seen::Done);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_cannot_be_stored_is_reported_instead() {
    let mut stage = stage(1).await;
    stage.log.refusals.lock().unwrap().push_back(LogError::TooLarge("9 MB".into()));
    stage.call("fine", Effect::Pure);
    let stored = stage.next().await;
    let called = stage.stored(&stored);
    assert!(called.result.error.unwrap().contains("9 MB"));
    assert_eq!(stage.next().await, Seen::Done);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_acknowledged_when_not_even_the_fault_can_be_stored() {
    let mut stage = stage(1).await;
    let no = LogError::Forbidden("in.crew".into());
    stage.log.refusals.lock().unwrap().extend([no.clone(), no]);
    stage.call("fine", Effect::Pure);
    assert!(matches!(stage.next().await, Seen::Later(_)));
}

fn signal(signal: Signal) -> Entry {
    let fact = Fact::Signaled(Signaled { signal, reason: None, by: None, parent_seq: None });
    let record = Record::of_fact(&fact, "s", &by()).unwrap();
    entry(7, Family::In(fact.source()), record)
}

/// The stop hint, the log and the behaviour of the tool decide whether a result is stored, and
/// when.
#[rstest]
#[case::hint_and_end("polite", true, Some(finish()), false, 2)]
#[case::end_seen_by_heartbeat("polite", false, Some(finish()), false, 11)]
#[case::endless_tool_is_dropped("endless", true, Some(finish()), false, 7)]
#[case::hint_and_cancel("polite", true, Some(signal(Signal::Cancel)), false, 2)]
#[case::cancel_alone_waits_for_the_end("wait", false, Some(signal(Signal::Cancel)), true, 61)]
#[case::hint_alone_is_not_believed("wait", true, None, true, 61)]
#[case::pausing_lets_tools_end("wait", true, Some(signal(Signal::Pause)), true, 61)]
#[tokio::test(start_paused = true)]
async fn only_the_log_makes_a_result_unwanted(
    #[case] tool: &str,
    #[case] hinted: bool,
    #[case] happened: Option<Entry>,
    #[case] is_stored: bool,
    #[case] within_s: u64,
) {
    let mut stage = stage(1).await;
    stage.call(tool, Effect::Pure);
    stage.started(1).await;
    let began = tokio::time::Instant::now();
    if let Some(entry) = happened {
        stage.happens(entry);
    }
    if hinted {
        stage.hint().await;
    }
    let release = Arc::clone(&stage.release);
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(60)).await;
        release.notify_one();
    });
    let first = stage.next().await;
    assert_eq!(matches!(first, Seen::Stored(_)), is_stored, "{first:?}");
    assert!(began.elapsed() <= Duration::from_secs(within_s), "{:?}", began.elapsed());
    let last = if is_stored { stage.next().await } else { first };
    assert_eq!(last, Seen::Done);
}

#[tokio::test(start_paused = true)]
async fn a_command_whose_workers_keep_dying_is_reported_lost_and_not_run() {
    let mut stage = stage(1).await;
    stage.give(command(&call("fine", Effect::Pure)), 6);
    let stored = stage.next().await;
    assert_eq!(stage.stored(&stored).fault, Some(Fault::WorkerLost));
    assert_eq!(stage.next().await, Seen::Done);
    assert_eq!(stage.running.load(Ordering::SeqCst), 0);
    stage.give(command(&call("fine", Effect::Pure)), 5);
    let stored = stage.next().await;
    assert!(stage.stored(&stored).result.success);
}

#[tokio::test(start_paused = true)]
async fn a_command_nobody_can_read_is_left_for_later() {
    let mut stage = stage(1).await;
    let decision = call("fine", Effect::Pure);
    let unknown = br#"{"v":1,"kind":"dance","id":"r","by":"w","body":{}}"#;
    let record = Record::from_slice(unknown).unwrap();
    stage.give(entry(5, Family::Do(decision.kind(), decision.pool()), record), 1);
    assert_eq!(stage.next().await, Seen::Later(Duration::from_secs(60)));
    // The slot of the unreadable command is free again.
    stage.call("fine", Effect::Pure);
    assert!(matches!(stage.next().await, Seen::Stored(_)));
}

#[tokio::test(start_paused = true)]
async fn no_more_is_taken_than_there_are_slots() {
    let mut stage = stage(2).await;
    for _ in 0..3 {
        stage.call("wait", Effect::Pure);
    }
    stage.started(2).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((stage.running.load(Ordering::SeqCst), stage.gauge.load().in_flight), (2, 2));
    stage.release.notify_one();
    assert!(matches!(stage.next().await, Seen::Stored(_)));
    stage.started(3).await;
}

#[tokio::test(start_paused = true)]
async fn a_command_that_is_in_hand_is_not_begun_again_beside_itself() {
    let mut stage = stage(4).await;
    for delivered in 1..=3 {
        stage.give(command(&call("wait", Effect::Idempotent)), delivered);
    }
    stage.started(1).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((stage.running.load(Ordering::SeqCst), stage.gauge.load().in_flight), (1, 1));
    stage.release.notify_one();
    assert!(matches!(stage.next().await, Seen::Stored(_)));
    assert_eq!(stage.next().await, Seen::Done);
    // A delivery after the end of the first run starts a run of its own, which finds the result in
    // the log.
    stage.give(command(&call("fine", Effect::Idempotent)), 4);
    assert!(matches!(stage.next().await, Seen::Stored(_)));
}

#[tokio::test(start_paused = true)]
async fn a_draining_pool_finishes_what_it_has_and_takes_nothing_new() {
    let mut stage = stage(4).await;
    stage.call("wait", Effect::Pure);
    stage.started(1).await;
    stage.shutdown.cancel();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!stage.pool.is_finished());
    stage.release.notify_one();
    assert!(matches!(stage.next().await, Seen::Stored(_)));
    assert_eq!(stage.next().await, Seen::Done);
    (&mut stage.pool).await.unwrap();
    let late = Delivery {
        entry: command(&call("fine", Effect::Pure)),
        delivered: 1,
        ack: Box::new(Acks(stage.acks.clone())),
        slot: None,
    };
    assert!(stage.queue.send(late).is_err(), "it still listens");
}

#[tokio::test(start_paused = true)]
async fn what_was_taken_when_draining_begins_is_run_or_given_back() {
    let mut stage = stage(64).await;
    for _ in 0..64 {
        stage.call("fine", Effect::Pure);
    }
    stage.shutdown.cancel();
    (&mut stage.pool).await.unwrap();
    let mut settled = 0;
    while let Ok(seen) = stage.seen.try_recv() {
        settled += u64::from(matches!(seen, Seen::Done | Seen::Later(_)));
    }
    assert_eq!(settled, stage.log.taken.load(Ordering::SeqCst));
}

#[tokio::test(start_paused = true)]
async fn what_does_not_end_in_the_time_to_drain_goes_to_another_worker() {
    let mut stage = stage(4).await;
    stage.call("endless", Effect::Pure);
    stage.started(1).await;
    let began = tokio::time::Instant::now();
    stage.shutdown.cancel();
    assert_eq!(stage.next().await, Seen::Later(Duration::ZERO));
    (&mut stage.pool).await.unwrap();
    assert!((25..28).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
}

#[rstest]
#[case(Effect::Idempotent)]
#[case(Effect::Once)]
#[tokio::test(start_paused = true)]
async fn a_tool_with_effects_ends_before_its_command_can_go_elsewhere(#[case] effect: Effect) {
    let mut stage = stage(1).await;
    stage.call("endless", effect);
    stage.started(1).await;
    let began = tokio::time::Instant::now();
    tokio::time::sleep(ACK_WAIT * 3).await;
    while let Ok(seen) = stage.seen.try_recv() {
        assert_eq!(seen, Seen::Working, "it ended while connected");
    }
    let connected = began.elapsed();
    *stage.log.cut_off.lock().unwrap() = true;
    stage.emptied().await;
    let alone = began.elapsed() - connected;
    assert!(alone <= ACK_WAIT, "{alone:?}");
    // A negative acknowledgement might arrive late, and take the command from the worker that has
    // it by then.
    while let Ok(seen) = stage.seen.try_recv() {
        assert_eq!(seen, Seen::Working, "the command was handed back");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_with_effects_does_not_begin_once_its_command_was_given_up() {
    let mut stage = stage(1).await;
    *stage.log.cut_off.lock().unwrap() = true;
    stage.give(command(&call("fine", Effect::Idempotent)), 2);
    // The task waits for a read of the log, and is in its cleanup when the log is readable again.
    tokio::time::sleep(ACK_WAIT - Duration::from_secs(4)).await;
    *stage.log.cut_off.lock().unwrap() = false;
    stage.emptied().await;
    assert_eq!(stage.running.load(Ordering::SeqCst), 0);
    while let Ok(seen) = stage.seen.try_recv() {
        assert_eq!(seen, Seen::Working);
    }
}

#[tokio::test(start_paused = true)]
async fn work_without_effects_goes_on_when_cut_off() {
    let mut stage = stage(1).await;
    *stage.log.cut_off.lock().unwrap() = true;
    stage.call("wait", Effect::Pure);
    tokio::time::sleep(ACK_WAIT * 3).await;
    stage.release.notify_one();
    assert!(matches!(stage.next().await, Seen::Stored(_)));
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_cannot_be_opened_fails_the_pool() {
    let stage = stage(1).await;
    let cell = stage.actor.get_cell();
    drop(stage.queue);
    cell.wait(None).await.unwrap();
    assert_eq!(cell.get_status(), ractor::ActorStatus::Stopped);
}

#[tokio::test(start_paused = true)]
async fn a_command_for_another_role_is_acknowledged_and_never_reaches_the_actor() {
    let mut stage = stage(1).await;
    stage.give(finish(), 1);
    assert_eq!(stage.next().await, Seen::Done);
    assert_eq!((stage.running.load(Ordering::SeqCst), stage.gauge.load().in_flight), (0, 0));
}

#[test]
fn a_lost_command_names_the_workers_that_died() {
    let failure = Failure::Lost { delivered: 6 };
    assert!(failure.error().is_transient() && failure.message().contains("5 times"), "{failure:?}");
    assert_eq!(failure.fault(), Fault::WorkerLost);
    assert_eq!(Failure::Broken("why".into()).fault(), Fault::Internal);
}

/// The same loop on the in-memory broker: another worker carries out the command of a worker that
/// died.
#[tokio::test(start_paused = true)]
async fn another_worker_does_what_a_dead_one_had_in_hand() {
    let subjects = Subjects::new("cb", 8).unwrap();
    let broker = memory::start(subjects, MemoryOptions::default());
    let trace = crate::telemetry::new_trace();
    let decision = call("wait", Effect::Pure);
    let decided = broker.log.decide(&job(), &decision, Seq(0), None, trace).await.unwrap();
    assert!(matches!(decided, CasOutcome::Stored(_)));
    let (release, running) = (Arc::new(Notify::new()), Arc::new(AtomicU64::new(0)));
    let mut pools_started = Vec::new();
    for n in 1..=2 {
        let role = ToolRole { release: Arc::clone(&release), running: Arc::clone(&running) };
        let options = PoolOptions::new(DecisionKind::Call, pools::builtin(), 4);
        let shutdown = CancellationToken::new();
        let args = PoolArgs::new(broker.clone(), by(), role, options, shutdown);
        let (actor, handle) = Actor::spawn(None, PoolActor::default(), args).await.unwrap();
        while running.load(Ordering::SeqCst) < n {
            tokio::time::sleep(Duration::from_millis(10)).await;
            if n == 2 && handle.is_finished() {
                panic!("the second pool ended");
            }
        }
        if n == 1 {
            actor.kill();
            handle.await.unwrap();
        }
        pools_started.push(actor);
    }
    release.notify_one();
    let results = async {
        loop {
            let entries = broker.log.read(&job(), Seq(0)).await.unwrap();
            let facts = entries.iter().filter(|e| matches!(e.family, Family::In(_))).count();
            if facts > 0 {
                return facts;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert_eq!(results.await, 1);
    tokio::time::sleep(ACK_WAIT * 3).await;
    let depth = broker.log.depth(DecisionKind::Call, &pools::builtin()).await.unwrap();
    assert_eq!(depth, Depth::default());
    assert_eq!(running.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_takes_a_while_says_who_has_it() {
    let stage = stage(1).await;
    let live = stage.log.subjects.live(&job());
    let mut heard = stage.broker.bus.subscribe(live).await.unwrap();
    stage.call("wait", Effect::Pure);
    let message = heard.next().await.unwrap();
    let live: Live = wire::decode(&message.payload).unwrap();
    assert_eq!((live.index, live.said), (0, LiveUpdate::Taken { worker: by() }));
    assert_eq!((live.work.as_str(), live.step.unwrap().as_str()), ("g0.s1", "s1"));
}
