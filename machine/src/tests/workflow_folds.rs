//! Folds of workflows evaluate nothing. [`Play`] folds every record of every test, the workflows drawn
//! by chance too, with an evaluator that panics.

use std::{collections::BTreeMap, fs, path::Path};

use proto::{
    fact::Submitted,
    lang::Language,
    workflow::{Workflow, WorkflowRun},
};
use serde_json::json;

use super::play::{Play, agent};
use crate::graph::without_evaluator;

fn submitted() -> Play {
    let definition: Workflow = serde_json::from_value(json!({
        "workflow": "test", "version": 1, "start": "choose",
        "nodes": {"choose": {
            "work": {"type": "branch"},
            "next": [{"when": "visits.choose > 1", "to": "choose"}, {"to": "end"}],
        }},
    }))
    .unwrap();
    let run = WorkflowRun {
        definition,
        input: json!({}),
        tools: BTreeMap::default(),
        workflows: BTreeMap::default(),
    };
    let submitted = Play::submitted(agent(|_| {}), Language::En);
    Play::submit_as(Submitted { workflow: Some(Box::new(run)), ..submitted })
}

#[test]
#[should_panic(expected = "a fold evaluates an expression")]
fn the_ban_on_evaluation_holds() {
    let play = submitted();
    without_evaluator(|| play.job.decide());
}

#[test]
fn the_ban_ends_with_the_fold() {
    let mut play = submitted();
    play.expect(&["advance 1", "finish completed"]);
}

/// Returns the files of the machine, without its tests, that contain the text.
fn files_with(text: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut left, mut found) = (vec![root.clone()], Vec::new());
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.extend((!path.ends_with("tests")).then_some(path));
            } else if fs::read_to_string(&path).unwrap().contains(text) {
                found.push(path.strip_prefix(&root).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn only_the_planner_evaluates_and_only_a_decision_begins_one() {
    assert_eq!(files_with("Evaluator::new"), ["graph/evaluation.rs"]);
    assert_eq!(files_with("evaluator()"), ["graph/evaluation.rs", "graph/planner.rs"]);
    assert_eq!(files_with("Planner::new("), ["graph/mod.rs"]);
    assert_eq!(files_with(".advance("), ["decide.rs"]);
    let module = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/graph/mod.rs"));
    let module = module.unwrap();
    let (before, after) = module.split_once("Planner::new(").unwrap();
    let function = before.rsplit("fn ").next().unwrap();
    assert!(function.starts_with("advance(&self, now: Timestamp) -> Option<Note>"), "{function}");
    assert!(!after.contains("Planner::new("));
}
