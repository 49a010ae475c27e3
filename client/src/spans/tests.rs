//! Bars always form a tree of intervals, whatever the events are, and the recorded histories of real
//! jobs leave none open.

use std::{fs, path::Path};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn event(seq: u64, index: u32, second: u64, happened: &Value) -> Event {
    let id = format!("{seq}.{index}");
    let time = Timestamp::from_second(1_772_355_600 + i64::try_from(second).unwrap()).unwrap();
    let mut event = json!({"id": id, "time": time.to_string()});
    event.as_object_mut().unwrap().extend(happened.as_object().unwrap().clone());
    serde_json::from_value(event).unwrap()
}

fn happened() -> impl Strategy<Value = Value> {
    let step = prop::sample::select(vec!["a", "b"]);
    let attempt = 1..4u32;
    let work = prop::sample::select(vec!["g0.r0.a.n1.t1", "g0.r0.b", "g0.p1", "g1.r0.a.n1.t1"]);
    let states =
        prop::sample::select(vec!["submitted", "working", "input-required", "completed", "failed"]);
    let subs = prop::sample::select(vec!["executing", "paused", "poisoned"]);
    let phases = prop::sample::select(vec![
        "started",
        "retried",
        "waiting",
        "resumed",
        "completed",
        "failed",
        "blocked",
        "skipped",
        "canceled",
    ]);
    let tool = |phase: Value| {
        move |(work, step, attempt): (&'static str, &'static str, u32)| {
            let mut event = json!({"type": "tool", "work": work, "step": step, "attempt": attempt, "tool": "echo"});
            event.as_object_mut().unwrap().extend(phase.as_object().unwrap().clone());
            event
        }
    };
    let unit = (work.clone(), step.clone(), attempt.clone());
    prop_oneof![
        (states, subs).prop_map(|(state, sub)| json!({"type": "job", "state": state, "sub_status": sub})),
        (phases, step.clone(), attempt.clone()).prop_map(|(phase, step, attempt)| {
            json!({"type": "step", "phase": phase, "step": step, "label": "l", "attempt": attempt})
        }),
        unit.clone().prop_map(|(work, step, attempt)| {
            json!({"type": "turn", "phase": "asked", "work": work, "step": step, "attempt": attempt})
        }),
        unit.clone().prop_map(tool(json!({"phase": "calling", "args": {}}))),
        (unit.clone(), any::<bool>(), 0..9_000u64).prop_map(move |(unit, success, ran)| {
            tool(json!({"phase": "called", "success": success, "duration_ms": ran}))(unit)
        }),
        unit.clone().prop_map(|(work, step, attempt)| {
            let usage = json!({"input_tokens": 1, "output_tokens": 1});
            json!({"type": "usage", "work": work, "step": step, "attempt": attempt, "spent": usage, "total": usage})
        }),
        unit.prop_map(|(work, _, attempt)| {
            json!({"type": "error", "scope": "attempt", "message": "m", "work": work, "attempt": attempt})
        }),
        (prop::option::of(step), 0..3u8).prop_map(|(step, n)| {
            let question = json!({"id": format!("q{n}"), "prompt": "p", "kind": "question", "step": step});
            json!({"type": "interaction", "phase": "asked", "question": question})
        }),
        (0..3u8).prop_map(|n| {
            json!({"type": "interaction", "phase": "closed", "ask": format!("q{n}"), "because": "expired"})
        }),
        (0..30u64).prop_map(|to| {
            json!({"type": "interaction", "phase": "signaled", "signal": "roll_back", "to": to})
        }),
    ]
}

fn histories() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec((happened(), 0..4u64), 0..60).prop_map(|all| {
        let mut second = 0;
        let dated = all.into_iter().zip(1..).map(|((happened, later), seq)| {
            second += later;
            event(seq, 1, second, &happened)
        });
        dated.collect()
    })
}

/// Asserts that the bars are a tree of intervals.
fn check(spans: &[Span]) {
    for (place, span) in spans.iter().enumerate() {
        assert_eq!(span.id, place);
        assert_eq!(span.parent.is_none(), span.kind == SpanKind::Job, "{span:?}");
        assert_eq!(span.end.is_none(), span.state == SpanState::Open, "{span:?}");
        assert!(span.end.is_none_or(|end| end >= span.begin), "{span:?}");
        let Some(parent) = span.parent else { continue };
        assert!(parent < place, "{span:?}");
        let parent = &spans[parent];
        assert!(span.begin >= parent.begin, "{span:?} in {parent:?}");
        match (span.end, parent.end) {
            (_, None) => {}
            (Some(end), Some(most)) => assert!(end <= most, "{span:?} in {parent:?}"),
            (None, Some(_)) => panic!("{span:?} grows in {parent:?}"),
        }
    }
    assert!(spans.iter().filter(|span| span.kind == SpanKind::Job).count() <= 1);
    let listed = tree(spans);
    assert_eq!(listed.len(), spans.len());
    for pair in listed.windows(2) {
        assert!(pair[1].depth <= pair[0].depth + 1);
    }
}

proptest! {
    #[test]
    fn bars_are_a_tree_of_intervals_at_every_moment(events in histories()) {
        let mut growing = Spans::default();
        for (n, event) in events.iter().enumerate() {
            let before = growing.list().to_vec();
            growing.take(event);
            check(growing.list());
            prop_assert_eq!(growing.list(), spans(&events[..=n]), "one by one as all at once");
            for (was, is) in before.iter().zip(growing.list()) {
                let same = (was.parent, was.kind, was.begin, was.event);
                prop_assert_eq!(same, (is.parent, is.kind, is.begin, is.event));
            }
        }
    }

    #[test]
    fn a_job_that_has_ended_has_no_open_bar(events in histories()) {
        let end = event(1_000, 1, 1_000, &json!({"type": "job", "state": "completed"}));
        let spans = spans(events.iter().chain([&end]));
        prop_assert!(spans.iter().all(|span| span.end.is_some()));
    }
}

#[test]
fn the_recorded_histories_are_drawn_without_gaps() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../machine/tests/events");
    let mut kinds = std::collections::BTreeSet::new();
    for file in fs::read_dir(directory).unwrap() {
        let path = file.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let events: Vec<Event> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let spans = spans(&events);
        check(&spans);
        assert!(spans.iter().all(|span| span.end.is_some()), "{}", path.display());
        assert_eq!(spans[0].begin, events[0].time, "{}", path.display());
        assert_eq!(spans[0].end, events.last().map(|event| event.time), "{}", path.display());
        kinds.extend(spans.iter().map(|span| span.kind.as_str()));
        let turns = |event: &&Event| matches!(event.happened, proto::event::Happened::Turn(_));
        let asked = events.iter().filter(turns).count();
        let drawn = spans.iter().filter(|span| span.kind == SpanKind::Turn).count();
        assert!(drawn <= asked && (asked == 0) == (drawn == 0), "{}", path.display());
    }
    let all = ["attempt", "call", "job", "queue", "step", "turn", "waiting"];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), all);
}

#[test]
fn a_second_attempt_shows_the_first_one_and_the_wait_between_them() {
    let call = |seq, second, attempt: u32, phase: Value| {
        let mut tool = json!({"type": "tool", "work": "g0.r0.a", "step": "a", "attempt": attempt, "tool": "echo"});
        tool.as_object_mut().unwrap().extend(phase.as_object().unwrap().clone());
        event(seq, 1, second, &tool)
    };
    let calling = json!({"phase": "calling", "args": {}});
    let events = [
        event(1, 1, 0, &json!({"type": "job", "state": "working", "goal": "say it"})),
        call(2, 1, 1, calling.clone()),
        call(3, 5, 1, json!({"phase": "called", "success": false, "duration_ms": 3_000})),
        call(4, 9, 2, calling),
        call(5, 10, 2, json!({"phase": "called", "success": true, "duration_ms": 1_000})),
    ];
    let start = Timestamp::from_second(1_772_355_600).unwrap();
    let seconds = |at: Timestamp| (at - start).get_seconds();
    let drawn = spans(&events);
    let shown: Vec<_> = tree(&drawn)
        .into_iter()
        .map(|Branch { span, depth }| {
            let ends = span.end.map(seconds);
            (depth, span.kind.as_str(), seconds(span.begin), ends, span.state.as_str())
        })
        .collect();
    assert_eq!(
        shown,
        [
            (0, "job", 0, None, "open"),
            (1, "call", 1, Some(10), "done"),
            (2, "queue", 1, Some(2), "done"),
            (2, "attempt", 1, Some(5), "failed"),
            (2, "waiting", 5, Some(9), "done"),
            (2, "attempt", 9, Some(10), "done"),
        ]
    );
    assert_eq!((drawn[0].label.as_str(), drawn[1].label.as_str()), ("say it", "echo"));
}
