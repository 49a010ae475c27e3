//! Which commands share a opening.

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::testing;

fn opening(openings: &Openings, work: &PlanWork, registered: &str) -> Arc<Opening> {
    let specs = testing::tools();
    let agents = proto::family::as_tools(&work.model.agents, work.language);
    let tools = Toolbox::new(&specs, work.model.tools.as_deref()).with_agents(&agents);
    openings.get(work, registered, &tools)
}

#[rstest]
#[case::goal(json!({"goal": "Another one"}))]
#[case::notices(json!({"attempt": 2}))]
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
#[case::empty(json!({"protocol": "task_steps", "may_be_empty": true}))]
#[case::asking(json!({"may_ask": false}))]
#[case::kinds(json!({"ask_kinds": ["select"]}))]
fn whatever_a_frame_shows_is_in_its_key(#[case] other: Value) {
    let (openings, other) = (Openings::default(), testing::work(other));
    opening(&openings, &testing::work(json!({})), "a");
    let tools = testing::tools();
    let agents = proto::family::as_tools(&other.model.agents, other.language);
    let tools = Toolbox::new(&tools, other.model.tools.as_deref()).with_agents(&agents);
    assert_eq!(*opening(&openings, &other, "a"), Opening::new(&other, &tools));
}

#[test]
fn a_changed_registry_gives_another_frame() {
    let (openings, work) = (Openings::default(), testing::work(json!({})));
    let (first, other) = (opening(&openings, &work, "a"), opening(&openings, &work, "b"));
    assert!(!Arc::ptr_eq(&first, &other));
    assert!(Arc::ptr_eq(&other, &opening(&openings, &work, "b")));
}
