//! Which commands share an opening.

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::testing;

/// Looks an opening up as the planner does, and builds it without memory.
fn both(openings: &Openings, work: &PlanWork, registered: &str) -> (Arc<Opening>, Opening) {
    let registered_tools = testing::tools();
    let offered: Vec<_> = registered_tools
        .iter()
        .map(|tool| work.model.presets.offered(tool, work.language))
        .collect();
    let agents = proto::family::as_tools(&work.model.agents, work.language);
    let tools = Toolbox::new(offered.iter().map(AsRef::as_ref), work.model.tools.as_deref())
        .with_agents(&agents);
    (openings.get(work, registered, &tools), Opening::new(work, &tools))
}

fn opening(openings: &Openings, work: &PlanWork, registered: &str) -> Arc<Opening> {
    both(openings, work, registered).0
}

#[rstest]
#[case::goal(json!({"goal": "Another one"}))]
#[case::attempt(json!({"attempt": 2}))]
#[case::model(json!({"model": "another", "temperature": 0.5}))]
#[case::dialogue(json!({"dialogue": [{"type": "steered", "words": "Hurry"}]}))]
fn jobs_of_one_agent_share_an_opening(#[case] other: Value) {
    let (openings, first) = (Openings::default(), testing::work(json!({})));
    let (first, other) =
        (opening(&openings, &first, "a"), opening(&openings, &testing::work(other), "a"));
    assert!(Arc::ptr_eq(&first, &other));
}

#[rstest]
#[case::system(json!({"system": "You are brief."}))]
#[case::language(json!({"language": "zh"}))]
#[case::tools(json!({"tools": ["create_task"]}))]
#[case::presets(json!({"presets": {"create_task": {"title": "A"}}}))]
#[case::agents(json!({"agents": [{"name": "helper", "about": "Helps"}]}))]
#[case::protocol(json!({"protocol": "task_steps"}))]
#[case::output(json!({"output": "tool"}))]
#[case::empty(json!({"may_be_empty": true}))]
#[case::asking(json!({"may_ask": false}))]
#[case::kinds(json!({"ask_kinds": ["select"]}))]
fn whatever_an_opening_shows_is_in_its_key(#[case] other: Value) {
    let (openings, first) = (Openings::default(), testing::work(json!({})));
    let first = opening(&openings, &first, "a");
    let (found, built) = both(&openings, &testing::work(other), "a");
    assert_eq!(*found, built);
    assert_ne!(first, found);
}

#[test]
fn a_changed_registry_gives_another_opening() {
    let (openings, work) = (Openings::default(), testing::work(json!({})));
    let (first, other) = (opening(&openings, &work, "a"), opening(&openings, &work, "b"));
    assert!(!Arc::ptr_eq(&first, &other));
    assert!(Arc::ptr_eq(&other, &opening(&openings, &work, "b")));
}
