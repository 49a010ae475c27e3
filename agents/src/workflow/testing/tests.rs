//! Tests of the interpreter and of drawn workflows.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::workflow::read::read;

/// Succeeds always, and ends the visits in the given order.
struct Plain(Vec<usize>);

impl Script for Plain {
    fn outcome(&mut self, visit: &Visit) -> Result<Value, Failure> {
        Ok(json!({"yes": true, "node": visit.node.as_str()}))
    }

    fn pick(&mut self, _ready: &[Ready]) -> usize {
        self.0.pop().unwrap_or_default()
    }
}

/// Takes every choice from a list of numbers.
struct Chance(std::vec::IntoIter<u32>);

impl Script for Chance {
    fn outcome(&mut self, _visit: &Visit) -> Result<Value, Failure> {
        match self.0.next().unwrap_or_default() % 5 {
            0 | 1 => Ok(json!({"yes": true})),
            2 => Ok(json!({"yes": false})),
            3 => Err(Failure::Error),
            _ => Err(Failure::Timeout),
        }
    }

    fn pick(&mut self, ready: &[Ready]) -> usize {
        usize::try_from(self.0.next().unwrap_or_default()).unwrap_or_default() % ready.len()
    }
}

fn ran(nodes: &str, order: &[usize]) -> Run {
    let head = "workflow: w\nstate: {log: {schema: {type: array}, reduce: append, initial: []}}\nstart: a\nnodes:\n";
    let checked =
        read("w.yaml", &format!("{head}{nodes}"), &known()).unwrap_or_else(|e| panic!("{e}"));
    run(&checked.workflow, &json!({}), &mut Plain(order.iter().rev().copied().collect()))
}

#[test]
fn a_join_waits_for_all_branches_and_writes_keep_the_order_in_which_they_ended() {
    let nodes = "  a: {type: parallel, branches: {x: x, y: y}, next: b}\n  x: {type: tool, tool: work, write: {log: x}}\n  y: {type: tool, tool: work, write: {log: y}}\n  b: {type: set, write: {log: b}}\n";
    assert_eq!(ran(nodes, &[1, 0]).ended, Ended::Output(json!({"log": ["y", "x", "b"]})));
    assert_eq!(ran(nodes, &[0, 0]).ended, Ended::Output(json!({"log": ["x", "y", "b"]})));
}

#[test]
fn the_first_of_any_cancels_the_others() {
    let nodes = "  a: {type: parallel, join: any, branches: {x: x, y: y}, next: b}\n  x: {type: tool, tool: work, write: {log: x}}\n  y: {type: tool, tool: work, write: {log: y}}\n  b: {type: set, write: {log: b}}\n";
    assert_eq!(ran(nodes, &[1]).ended, Ended::Output(json!({"log": ["y", "b"]})));
}

#[test]
fn collected_values_have_the_order_of_the_items_whatever_ended_first() {
    let nodes = "  a: {type: map, over: '[7, 8, 9]', do: x, collect: {log: '{{ index }}={{ item }}'}}\n  x: {type: tool, tool: work}\n";
    assert_eq!(ran(nodes, &[2, 1, 0]).ended, Ended::Output(json!({"log": ["0=7", "1=8", "2=9"]})));
}

#[test]
fn a_loop_without_another_bound_ends_at_the_visits() {
    let nodes = "  a: {type: model, prompt: x, write: {log: 1}, next: [{when: 'true', to: a}, {to: end}]}\n";
    let run = ran(nodes, &[]);
    assert_eq!((run.ended, run.trace.len()), (Ended::Limit, 10));
}

proptest! {
    #[test]
    fn every_drawn_workflow_runs_to_an_end_within_its_limits(
        choices in prop::collection::vec(any::<u32>(), 0..60),
        chance in prop::collection::vec(any::<u32>(), 0..120),
    ) {
        let workflow = drawn(&choices);
        let run = run(&workflow, &json!({}), &mut Chance(chance.into_iter()));
        prop_assert!(!matches!(run.ended, Ended::Expression(_)), "{:?}", run.ended);
        prop_assert!(run.trace.len() <= 60);
        let regions = workflow.regions();
        for visit in &run.trace {
            prop_assert!(regions.contains_key(&visit.node));
        }
        let counted = run.writes.iter().filter(|(key, _)| key.as_str() == "count").count();
        prop_assert_eq!(run.state.get(&proto::workflow::Key::new("count").unwrap()), Some(&json!(counted)));
    }

    #[test]
    fn a_drawn_workflow_is_the_same_for_the_same_choices(choices in prop::collection::vec(any::<u32>(), 0..40)) {
        let one = drawn(&choices);
        prop_assert_eq!(one.digest(), drawn(&choices).digest());
        let text = serde_json::to_string(&one).unwrap();
        prop_assert_eq!(serde_json::from_str::<proto::workflow::Workflow>(&text).unwrap(), one);
    }
}
