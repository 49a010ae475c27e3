//! Events from outside that workflows wait for.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use proto::{
    fact::{Signal, Submitted},
    interaction::Answer,
    job::{FailReason, Outcome},
    lang::Language,
    rules::Rules,
    why::Reason,
    workflow::{EVENTS_MAX, EventName, Workflow, WorkflowRun},
};
use rstest::rstest;
use serde_json::{Value, json};

use super::play::{Play, agent};
use crate::{EventRefusal, Surroundings};

fn submit(nodes: &Value) -> Play {
    let definition = json!({
        "workflow": "test", "version": 1, "start": "paid", "nodes": nodes,
        "state": {
            "said": {"schema": {}}, "all": {"schema": {}, "reduce": "append", "initial": []},
        },
    });
    let definition: Workflow = serde_json::from_value(definition).unwrap();
    let (input, tools) = (json!({"order": "o-1"}), BTreeMap::new());
    let run = WorkflowRun { definition, input, tools, workflows: BTreeMap::new() };
    let submitted = Play::submitted(agent(|_| {}), Language::En);
    let rules = Rules::WORKFLOWS;
    Play::submit_as(Submitted { workflow: Some(Box::new(run)), rules, ..submitted })
}

/// Waits for the payment of the order, for a day at most.
fn payment() -> Value {
    json!({
        "paid": {
            "work": {
                "type": "event", "event": "payment", "match": "event.data.order == input.order",
                "timeout": {"after_ms": 86_400_000, "then": "late"},
            },
            "write": {"said": "{{ event.data.amount }}"},
            "on_error": "broken",
            "next": [{"when": "event.name == 'payment'", "to": "end"}],
        },
        "late": {"work": {"type": "set"}, "write": {"said": "late"}, "next": [{"to": "end"}]},
        "broken": {"work": {"type": "set"}, "write": {"said": "broken"}, "next": [{"to": "end"}]},
    })
}

fn event(data: Value) -> Signal {
    named("payment", data)
}

fn named(name: &str, data: Value) -> Signal {
    Signal::Event { name: EventName::new(name).unwrap(), data }
}

fn said(play: &Play) -> Value {
    match play.outcome() {
        Outcome::Completed { value, .. } => value["said"].clone(),
        other => panic!("{other:?}"),
    }
}

/// Asserts that the log folds to the same job, whatever was cached.
fn refolds(play: &Play) {
    let again = play.folded();
    assert_eq!(again.view(), play.job.view());
    assert_eq!(again.decide(), play.job.decide());
}

#[test]
fn a_wait_ends_with_the_event_that_fits() {
    let mut p = submit(&payment());
    p.expect(&["advance 1", "wait g0.r0.paid--1 #1"]);
    let waits = p.job.why(&Surroundings::default());
    let [why] = waits.as_slice() else { panic!("{waits:?}") };
    let Reason::Event { step, event: name } = &why.reason else { panic!("{why:?}") };
    assert_eq!((step.as_str(), name.as_str()), ("paid--1", "payment"));
    let day = SignedDuration::from_hours(24);
    assert!(why.until.unwrap().duration_since(why.since) <= day);
    p.signal(event(json!({"order": "o-2", "amount": 5})));
    p.expect(&[]);
    p.signal(event(json!({"order": "o-1", "amount": 7})));
    p.expect(&["advance 2", "finish completed"]);
    assert_eq!(said(&p), json!(7));
    assert_eq!(p.states(), "paid--1:completed");
    refolds(&p);
}

#[test]
fn an_event_that_arrives_before_its_node_is_entered_is_kept() {
    let mut p = submit(&json!({
        "paid": {"work": {"type": "human", "ask": "Go?"}, "next": [{"to": "wait"}]},
        "wait": {
            "work": {"type": "event", "event": "payment"}, "write": {"said": "{{ event.data }}"},
            "next": [{"to": "end"}],
        },
    }));
    p.drive();
    p.signal(event(json!(1)));
    p.signal(event(json!(2)));
    refolds(&p);
    p.answer_with("q1", Answer::respond(json!("yes")));
    p.drive();
    assert_eq!(said(&p), json!(1), "the first one, in the order of arrival");
}

#[test]
fn a_wait_without_an_event_takes_the_way_of_its_timeout() {
    let mut p = submit(&payment());
    p.drive();
    p.signal(event(json!({"order": "o-2"})));
    p.fire("retry-1");
    p.expect(&["advance 2", "finish completed"]);
    assert_eq!(said(&p), json!("late"));
    assert_eq!(p.states(), "paid--1:failed");
    refolds(&p);
}

#[test]
fn an_event_before_the_decision_counts_although_the_timer_has_fired() {
    let mut p = submit(&payment());
    p.drive();
    p.fire("retry-1");
    p.signal(event(json!({"order": "o-1", "amount": 9})));
    p.drive();
    assert_eq!(said(&p), json!(9));
}

#[test]
fn a_timer_between_the_decision_and_its_write_changes_nothing() {
    let mut p = submit(&payment());
    p.drive();
    p.signal(event(json!({"order": "o-1", "amount": 9})));
    let next = p.job.decide().unwrap();
    p.fire("retry-1");
    p.decision(next.decision);
    p.drive();
    assert_eq!(said(&p), json!(9));
    refolds(&p);
}

#[rstest]
#[case::with_a_way(true)]
#[case::without(false)]
fn a_condition_that_cannot_be_evaluated_is_an_error_of_the_node(#[case] has_way: bool) {
    let mut nodes = payment();
    if !has_way {
        nodes["paid"].as_object_mut().unwrap().remove("on_error");
    }
    let mut p = submit(&nodes);
    p.drive();
    // The data has no field `order`.
    p.signal(event(json!({})));
    p.drive();
    match (has_way, p.outcome()) {
        (true, Outcome::Completed { value, .. }) => assert_eq!(value["said"], "broken"),
        (false, Outcome::Failed { reason, message, .. }) => {
            assert_eq!(reason, FailReason::StepFailed);
            assert!(message.contains("paid") && message.contains("match"), "{message}");
        }
        (_, other) => panic!("{other:?}"),
    }
    refolds(&p);
}

#[test]
fn a_job_keeps_a_bounded_number_of_events_of_names_that_it_waits_for() {
    let mut p = submit(&payment());
    p.drive();
    let name = |name: &str| EventName::new(name).unwrap();
    p.signal(named("refund", json!(null)));
    assert_eq!(p.job.ignored(), 1);
    let known = EventRefusal::Unawaited(vec![name("payment")]);
    assert_eq!(p.job.refuses_event(&name("refund")), Some(known));
    for n in 0..EVENTS_MAX {
        assert_eq!(p.job.refuses_event(&name("payment")), None, "{n}");
        p.signal(event(json!({"order": n})));
    }
    assert_eq!(p.job.refuses_event(&name("payment")), Some(EventRefusal::Full));
    p.signal(event(json!({"order": "o-1"})));
    assert_eq!(p.job.ignored(), 2);
    assert_eq!(p.job.decide(), None, "the fold ignores what the door refuses");
    refolds(&p);
}

#[test]
fn the_items_of_a_map_receive_their_own_events() {
    let mut p = submit(&json!({
        "paid": {
            "work": {
                "type": "map", "over": "['a', 'b']", "item": "one", "max_parallel": 2,
                "max_items": 5, "start": "wait", "nodes": ["wait"], "join": "all",
                "collect": {"all": "{{ event.data.n }}"},
            },
            "next": [{"to": "end"}],
        },
        "wait": {
            "work": {"type": "event", "event": "paid", "match": "event.data.of == one"},
            "next": [{"to": "end"}],
        },
    }));
    p.expect(&["advance 1"]);
    p.signal(named("paid", json!({"of": "b", "n": 2})));
    p.expect(&["advance 2"]);
    p.signal(named("paid", json!({"of": "a", "n": 1})));
    p.drive();
    let Outcome::Completed { value, .. } = p.outcome() else { panic!("{:?}", p.outcome()) };
    assert_eq!(value["all"], json!([1, 2]));
    refolds(&p);
}

#[test]
fn a_rollback_before_an_event_waits_for_it_again() {
    let mut p = submit(&payment());
    p.drive();
    let before = p.last();
    p.signal(event(json!({"order": "o-1", "amount": 7})));
    p.drive();
    assert!(p.back(before));
    p.drive();
    assert!(!p.job.has_ended());
    p.signal(event(json!({"order": "o-1", "amount": 8})));
    p.drive();
    assert_eq!(said(&p), json!(8));
    refolds(&p);
}

#[test]
fn a_wait_that_a_join_cancels_receives_nothing() {
    let mut p = submit(&json!({
        "paid": {
            "work": {
                "type": "parallel", "join": "any",
                "branches": [
                    {"name": "a", "start": "one", "nodes": ["one"]},
                    {"name": "b", "start": "two", "nodes": ["two"]},
                ],
            },
            "next": [{"to": "then"}],
        },
        "one": {"work": {"type": "event", "event": "one"}, "next": [{"to": "end"}]},
        "two": {"work": {"type": "event", "event": "two", "timeout": {"after_ms": 5, "then": "end"}}, "next": [{"to": "end"}]},
        "then": {
            "work": {"type": "event", "event": "two"}, "write": {"said": "{{ event.data }}"},
            "next": [{"to": "end"}],
        },
    }));
    p.drive();
    p.signal(named("one", json!(1)));
    p.drive();
    assert_eq!(p.states(), "one--1:completed two--1:skipped then--1:waiting");
    p.signal(named("two", json!(2)));
    p.drive();
    assert_eq!(said(&p), json!(2));
    refolds(&p);
}
