//! Tests of runs.

use rstest::rstest;
use serde_json::{Value, json};

use super::*;

/// Returns the types of the events that a run shows, and how it ends.
fn shown(events: &Value, awaited: &[&str]) -> (Vec<String>, Value) {
    let job: JobId = "j1".parse().unwrap();
    let awaited = awaited.iter().map(|ask| (job.clone(), ask.parse().unwrap())).collect();
    shown_from(events, Start::Answers(awaited))
}

fn shown_from(events: &Value, start: Start) -> (Vec<String>, Value) {
    let job: JobId = "j1".parse().unwrap();
    let state = Map::from_iter([("theme".to_owned(), json!("dark"))]);
    let mut run = Run::new(job, ("t1".to_owned(), "r1".to_owned()), state, start);
    let mut shown = run.begin();
    for (n, event) in events.as_array().unwrap().iter().enumerate() {
        let mut event = event.clone();
        event["id"] = json!(format!("{}.1", n + 1));
        event["time"] = json!("2026-03-01T09:00:00Z");
        let event: Event = serde_json::from_value(event).unwrap();
        if !run.has_ended() {
            shown.extend(run.take(&event));
        }
    }
    let shown: Vec<Value> =
        shown.iter().map(|event| serde_json::to_value(event).unwrap()).collect();
    let types = shown.iter().map(|event| event["type"].as_str().unwrap().to_owned());
    // Every snapshot keeps the state of the client.
    for event in shown.iter().filter(|event| event["type"] == "STATE_SNAPSHOT") {
        assert_eq!(event["snapshot"]["theme"], "dark");
    }
    (types.collect(), shown.last().unwrap().clone())
}

fn plan(confirmed: bool) -> Value {
    let step = json!({"id": "s1", "description": "say it", "tool": "echo", "state": "ready"});
    json!({"type": "plan", "phase": "created", "title": "t", "revision": 0, "confirmed": confirmed, "steps": [step]})
}

fn asked(ask: &str) -> Value {
    json!({"type": "interaction", "phase": "asked", "question": {"id": ask, "prompt": "Whom?", "kind": "question"}})
}

fn answered(ask: &str) -> Value {
    json!({"type": "interaction", "phase": "answered", "ask": ask, "decision": "respond", "value": "Ann", "by": "ann"})
}

fn job(state: &str) -> Value {
    json!({"type": "job", "state": state})
}

fn step(phase: &str) -> Value {
    json!({"type": "step", "phase": phase, "step": "s1", "label": "say it", "attempt": 1})
}

fn call(phase: &Value) -> Value {
    let mut call =
        json!({"type": "tool", "work": "g0.r0.s1", "attempt": 1, "step": "s1", "tool": "echo"});
    call.as_object_mut().unwrap().extend(phase.as_object().unwrap().clone());
    call
}

#[test]
fn a_run_ends_at_a_question_and_the_next_one_goes_on_after_the_answer() {
    let log = json!([
        job("submitted"),
        plan(true),
        step("started"),
        asked("q1"),
        step("waiting"),
        job("input-required"),
        answered("q1"),
        job("working"),
        step("resumed"),
        call(&json!({"phase": "calling", "args": {"value": "hi"}})),
        call(&json!({"phase": "called", "success": true, "result": "hi", "duration_ms": 1})),
        step("completed"),
        {"type": "message", "stream": "result", "text": "Done."},
        job("completed"),
    ]);
    let (types, end) = shown(&log, &[]);
    let first = [
        "RUN_STARTED",
        "STATE_SNAPSHOT",
        "STATE_SNAPSHOT",
        "ACTIVITY_SNAPSHOT",
        "STEP_STARTED",
        "ACTIVITY_DELTA",
        "ACTIVITY_DELTA",
        "ACTIVITY_SNAPSHOT",
        "STATE_SNAPSHOT",
        "STEP_FINISHED",
        "RUN_FINISHED",
    ];
    assert_eq!(types, first);
    let interrupt = &end["outcome"]["interrupts"][0];
    assert_eq!(
        (&interrupt["id"], &interrupt["reason"]),
        (&json!("j1:j1:q1"), &json!("input_required"))
    );
    let (types, end) = shown(&log, &["q1"]);
    let second = [
        "RUN_STARTED",
        "STATE_SNAPSHOT",
        "ACTIVITY_SNAPSHOT",
        "STATE_SNAPSHOT",
        "STATE_SNAPSHOT",
        "STEP_STARTED",
        "ACTIVITY_DELTA",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
        "STEP_FINISHED",
        "ACTIVITY_DELTA",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "STATE_SNAPSHOT",
        "RUN_FINISHED",
    ];
    assert_eq!(types, second);
    assert_eq!(end["outcome"]["type"], "success");
}

#[rstest]
#[case::completed(json!([job("completed")]), "RUN_FINISHED", json!({"type": "success"}), Value::Null)]
#[case::canceled(json!([step("started"), job("canceled")]), "RUN_FINISHED", json!({"type": "cancelled"}), Value::Null)]
#[case::failed(json!([{"type": "error", "scope": "job", "message": "no", "reason": "step_failed"}, job("failed")]), "RUN_ERROR", Value::Null, json!("step_failed"))]
#[case::an_attempt_that_failed(json!([{"type": "error", "scope": "attempt", "message": "no"}, job("working")]), "STATE_SNAPSHOT", Value::Null, Value::Null)]
fn a_run_ends_as_its_job_does(
    #[case] log: Value,
    #[case] last: &str,
    #[case] outcome: Value,
    #[case] code: Value,
) {
    let (_, end) = shown(&log, &[]);
    assert_eq!((&end["type"], &end["outcome"], &end["code"]), (&json!(last), &outcome, &code));
}

#[test]
fn a_question_that_was_answered_is_no_interrupt() {
    let log = json!([asked("q1"), asked("q2"), answered("q1"), job("input-required")]);
    let (_, end) = shown(&log, &[]);
    let interrupts = end["outcome"]["interrupts"].as_array().unwrap();
    assert_eq!(interrupts.len(), 1);
    assert_eq!(interrupts[0]["id"], "j1:j1:q2");
}

#[test]
fn an_answer_to_one_of_two_awaited_questions_shows_nothing_yet() {
    let log =
        json!([asked("q1"), asked("q2"), job("input-required"), answered("q1"), job("working")]);
    let (types, _) = shown(&log, &["q1", "q2"]);
    assert_eq!(types, ["RUN_STARTED", "STATE_SNAPSHOT"]);
}

#[test]
fn a_run_that_instructs_a_job_shows_the_events_from_the_instruction_on() {
    let told = json!({"type": "interaction", "phase": "told", "text": "in metres"});
    let log = json!([
        job("submitted"),
        plan(true),
        step("started"),
        {"type": "usage", "work": "g0.r0.plan", "spent": {"input_tokens": 9, "output_tokens": 9}, "total": {"input_tokens": 9, "output_tokens": 9}},
        told,
        step("completed"),
        {"type": "message", "stream": "result", "text": "Done."},
        job("completed"),
    ]);
    let expected = [
        "RUN_STARTED",
        "STATE_SNAPSHOT",
        "ACTIVITY_SNAPSHOT",
        "STATE_SNAPSHOT",
        "ACTIVITY_DELTA",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "STATE_SNAPSHOT",
        "RUN_FINISHED",
    ];
    let (types, end) = shown_from(&log, Start::Record(Seq(5)));
    assert_eq!(types, expected);
    assert_eq!((&end["outcome"]["type"], &end["usage"]), (&json!("success"), &Value::Null));
    // The record of the instruction has no event.
    let (types, _) = shown_from(&log, Start::Record(Seq(6)));
    assert_eq!(types, expected);
}

#[test]
fn a_question_from_before_an_instruction_interrupts_the_run() {
    let told = json!({"type": "interaction", "phase": "told", "text": "in metres"});
    let log =
        json!([asked("q1"), job("input-required"), job("working"), told, job("input-required")]);
    let (types, end) = shown_from(&log, Start::Record(Seq(4)));
    assert_eq!(types.last().unwrap(), "RUN_FINISHED");
    assert_eq!(end["outcome"]["interrupts"][0]["id"], "j1:j1:q1");
}
