//! Edits of the graph of a running job: what follows them, what they are refused for, and what undoes
//! them.

use std::collections::BTreeMap;

use proto::{
    fact::{Signal, Submitted},
    interaction::Answer,
    job::Outcome,
    lang::Language,
    rules::Rules,
    workflow::{GraphChanges, NodeId, Workflow, WorkflowName, WorkflowRun},
};
use rstest::rstest;
use serde_json::{Value, json};

use super::play::{Play, agent, binding};
use crate::EditRefusal;

/// A question, and two branches of which one waits for an event.
fn graph() -> Value {
    json!({
        "workflow": "test", "version": 1, "start": "first",
        "state": {"said": {"schema": {}, "reduce": "append", "initial": []}},
        "output": {"said": "{{ state.said }}"},
        "nodes": {
            "first": {"work": {"type": "human", "ask": "Go?"}, "write": {"said": "first"}, "next": [{"to": "both"}]},
            "both": {
                "work": {"type": "parallel", "join": "all", "branches": [
                    {"name": "a", "start": "wait", "nodes": ["wait", "then"]},
                    {"name": "b", "start": "other", "nodes": ["other"]},
                ]},
                "next": [{"to": "last"}],
            },
            "wait": {"work": {"type": "event", "event": "go"}, "next": [{"to": "then"}]},
            "then": {"work": {"type": "set"}, "write": {"said": "then"}, "next": [{"to": "end"}]},
            "other": {"work": {"type": "human", "ask": "Other?"}, "write": {"said": "other"}, "next": [{"to": "end"}]},
            "last": {"work": {"type": "set"}, "write": {"said": "last"}, "next": [{"to": "end"}]},
        },
    })
}

fn run(definition: &Value) -> WorkflowRun {
    let definition: Workflow = serde_json::from_value(definition.clone()).unwrap();
    let (input, workflows) = (json!({}), BTreeMap::new());
    let tools = [(proto::id::ToolName::new("tool").unwrap(), binding())].into_iter().collect();
    WorkflowRun { definition, input, tools, workflows }
}

fn begin() -> Play {
    let submitted = Play::submitted(agent(|_| {}), Language::En);
    let (workflow, rules) = (Some(Box::new(run(&graph()))), Rules::WORKFLOWS);
    let mut p = Play::submit_as(Submitted { workflow, rules, ..submitted });
    p.drive();
    p
}

/// Changes a value of the graph by its path.
fn with(path: &str, value: Value) -> Value {
    let mut graph = graph();
    let at = path.split('.').fold(&mut graph, |above, name| &mut above[name]);
    *at = value;
    graph
}

fn edit(p: &mut Play, base: u32, graph: &Value) {
    let run = run(graph);
    let (now, _) = p.job.workflow().unwrap();
    let changes = GraphChanges::between(&now.definition, &run.definition);
    p.signal(Signal::EditGraph { base, changes, run: Box::new(run) });
}

fn go(p: &mut Play) {
    let name = proto::workflow::EventName::new("go").unwrap();
    p.signal(Signal::Event { name, data: json!({}) });
}

fn said(p: &Play) -> Value {
    match p.outcome() {
        Outcome::Completed { value, .. } => value["said"].clone(),
        other => panic!("{other:?}"),
    }
}

/// Asserts that the log folds to the same job, whatever was cached.
fn refolds(p: &Play) {
    let again = p.folded();
    assert_eq!(again.view(), p.job.view());
    assert_eq!(again.graph(), p.job.graph());
    assert_eq!(again.decide(), p.job.decide());
}

#[test]
fn what_runs_goes_on_and_its_way_on_is_that_of_the_new_graph() {
    let mut p = begin();
    let digest = p.job.graph().unwrap().digest;
    let mut new = with("nodes.first.next", json!([{"to": "extra"}]));
    new["nodes"]["extra"] = json!({
        "work": {"type": "set"}, "write": {"said": "extra"}, "next": [{"to": "end"}],
    });
    edit(&mut p, 0, &new);
    refolds(&p);
    let graph = p.job.graph().unwrap();
    assert_eq!((graph.revision, p.job.ignored()), (1, 0));
    assert_ne!(graph.digest, digest);
    p.answer_with("q1", Answer::respond(json!("yes")));
    p.drive();
    assert_eq!(said(&p), json!(["first", "extra"]));
    refolds(&p);
}

#[test]
fn a_graph_is_edited_while_its_branches_run() {
    let mut p = begin();
    p.answer_with("q1", Answer::respond(json!("yes")));
    p.drive();
    let mut new = with("nodes.then.write.said", json!("changed"));
    new["state"]["more"] = json!({"schema": {}, "initial": 7});
    new["nodes"]["last"]["write"]["said"] = json!("last {{ state.more }}");
    edit(&mut p, 0, &new);
    go(&mut p);
    p.drive();
    // Another edit follows the first one.
    new["nodes"]["last"]["write"]["said"] = json!("end {{ state.more }}");
    edit(&mut p, 1, &new);
    refolds(&p);
    p.answer_with("q2", Answer::respond(json!("yes")));
    p.drive();
    assert_eq!(said(&p), json!(["first", "changed", "other", "end 7"]));
    refolds(&p);
}

#[test]
fn a_rollback_undoes_an_edit() {
    let mut p = begin();
    let before = p.last();
    edit(&mut p, 0, &with("nodes.first.next", json!([{"to": "last"}])));
    assert!(p.back(before));
    refolds(&p);
    assert_eq!(p.job.workflow().unwrap().1, 0);
    let graph = p.job.graph().unwrap();
    assert_eq!(graph.definition, run(&self::graph()).definition);
    // The same base counts again.
    edit(&mut p, 0, &with("nodes.first.next", json!([{"to": "last"}])));
    p.drive();
    let ask = p.view().questions[0].id.to_string();
    p.answer_with(&ask, Answer::respond(json!("yes")));
    p.drive();
    assert_eq!(said(&p), json!(["first", "last"]));
}

fn stranded(node: &str) -> EditRefusal {
    EditRefusal::Stranded { node: NodeId::new(node).unwrap() }
}

/// A graph without the node `first`.
fn without_first() -> Value {
    let mut graph = graph();
    graph["nodes"].as_object_mut().unwrap().remove("first");
    graph["start"] = json!("both");
    graph
}

/// A graph whose node `wait` is of the other branch.
fn in_the_other_branch() -> Value {
    with(
        "nodes.both.work.branches",
        json!([
            {"name": "a", "start": "then", "nodes": ["then"]},
            {"name": "b", "start": "other", "nodes": ["other", "wait"]},
        ]),
    )
}

#[rstest]
#[case::removed(false, without_first(), stranded("first"))]
#[case::other_work(false, with("nodes.first.work", json!({"type": "set"})), stranded("first"))]
#[case::other_event(true, with("nodes.wait.work.event", json!("come")), stranded("wait"))]
#[case::other_branch(true, in_the_other_branch(), stranded("wait"))]
#[case::fewer_branches(
    true,
    with("nodes.both.work.branches", json!([{"name": "a", "start": "wait", "nodes": ["wait", "then"]}])),
    stranded("both")
)]
#[case::other_name(
    false,
    with("workflow", json!("other")),
    EditRefusal::OtherName { name: WorkflowName::new("test").unwrap() }
)]
#[case::other_reducer(
    false,
    with("state.said.reduce", json!("replace")),
    EditRefusal::State { key: proto::workflow::Key::new("said").unwrap() }
)]
#[case::no_such_target(
    false,
    with("nodes.first.next", json!([{"to": "gone"}])),
    EditRefusal::Missing { node: NodeId::new("gone").unwrap() }
)]
fn an_edit_that_would_strand_a_path_changes_nothing(
    #[case] in_branches: bool,
    #[case] new: Value,
    #[case] refusal: EditRefusal,
) {
    let mut p = begin();
    if in_branches {
        p.answer_with("q1", Answer::respond(json!("yes")));
        p.drive();
    }
    assert_eq!(p.job.refuses_edit(0, &run(&new)), Some(refusal));
    let before = p.job.graph().unwrap();
    edit(&mut p, 0, &new);
    assert_eq!(p.job.ignored(), 1, "the fold ignores what the door refuses");
    let after = p.job.graph().unwrap();
    assert_eq!((&after.definition, after.revision), (&before.definition, 0));
    refolds(&p);
}

#[test]
fn an_edit_against_another_number_of_edits_changes_nothing() {
    let mut p = begin();
    let new = with("nodes.first.next", json!([{"to": "last"}]));
    edit(&mut p, 0, &new);
    let stale = Some(EditRefusal::Stale { revision: 1 });
    assert_eq!(p.job.refuses_edit(0, &run(&graph())), stale);
    edit(&mut p, 0, &graph());
    assert_eq!(p.job.ignored(), 1);
    p.answer_with("q1", Answer::respond(json!("yes")));
    p.drive();
    assert_eq!(said(&p), json!(["first", "last"]));
    assert_eq!(p.job.refuses_edit(1, &run(&graph())), Some(EditRefusal::Ended));
}
