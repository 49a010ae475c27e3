//! Edits of the graph of a running job: what follows them, what they are refused for, and what undoes
//! them.

use std::collections::BTreeMap;

use proto::{
    decision::Decision,
    event::{Happened, InteractionEvent},
    fact::{Signal, Submitted},
    id::{Seq, ToolName},
    interaction::Answer,
    job::Outcome,
    lang::Language,
    rules::Rules,
    workflow::{GraphChanges, NodeId, Workflow, WorkflowName, WorkflowRun},
};
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    graphs::events,
    play::{Play, agent, binding},
};
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
    let tools = ["tool", "other"].map(|name| (ToolName::new(name).unwrap(), binding()));
    let tools = tools.into_iter().collect();
    WorkflowRun { definition, input, tools, workflows }
}

fn begin() -> Play {
    begin_with(&graph())
}

fn begin_with(graph: &Value) -> Play {
    let submitted = Play::submitted(agent(|_| {}), Language::En);
    let (workflow, rules) = (Some(Box::new(run(graph))), Rules::WORKFLOWS);
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

/// Edits the graph, and lets the supervisor put the edit in force.
fn edit(p: &mut Play, base: u32, graph: &Value) {
    request(p, base, graph);
    p.drive();
}

fn request(p: &mut Play, base: u32, graph: &Value) {
    let run = run(graph);
    let (now, _) = p.job.workflow().unwrap();
    let changes = GraphChanges::of_run(now, &run);
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
    assert_eq!(p.job.workflow().unwrap().1, 2, "the rollback changes the graph, too");
    let graph = p.job.graph().unwrap();
    assert_eq!(graph.definition, run(&self::graph()).definition);
    let again = run(&with("nodes.first.next", json!([{"to": "last"}])));
    assert_eq!(p.job.refuses_edit(0, &again), Some(EditRefusal::Stale { revision: 2 }));
    edit(&mut p, 2, &with("nodes.first.next", json!([{"to": "last"}])));
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

#[rstest]
#[case::another_way(with("nodes.first.next", json!([{"to": "last"}])), 1)]
#[case::other_work(
    with("nodes.both", json!({"work": {"type": "set"}, "next": [{"to": "end"}]})),
    0
)]
#[case::no_such_node(
    {
        let mut new = with("nodes.first.next", json!([{"to": "end"}]));
        new["nodes"].as_object_mut().unwrap().retain(|id, _| id == "first");
        new
    },
    0
)]
fn a_way_that_was_chosen_before_an_edit_is_one_of_the_graph_before_it(
    #[case] new: Value,
    #[case] revision: u32,
) {
    let mut p = begin();
    p.answer_with("q1", Answer::respond(json!("yes")));
    let chosen = p.job.decide().unwrap().decision;
    request(&mut p, 0, &new);
    p.decision(chosen);
    assert_eq!((p.job.poison(), p.job.ignored()), (None, 0));
    refolds(&p);
    p.drive();
    assert_eq!(p.job.workflow().unwrap().1, revision);
    go(&mut p);
    p.answer_with("q2", Answer::respond(json!("yes")));
    p.drive();
    assert_eq!(said(&p), json!(["first", "other", "then", "last"]));
}

#[test]
fn a_tool_is_called_with_the_values_that_were_evaluated_for_it() {
    let call = |tool: &str| {
        json!({
            "work": {"type": "tool", "tool": tool, "args": {"for": tool}}, "next": [{"to": "end"}],
        })
    };
    let mut before = with("nodes.first.next", json!([{"to": "call"}]));
    before["nodes"]["call"] = call("tool");
    let mut p = begin_with(&before);
    p.answer_with("q1", Answer::respond(json!("yes")));
    let chosen = p.job.decide().unwrap().decision;
    let mut after = before.clone();
    after["nodes"]["call"] = call("other");
    request(&mut p, 0, &after);
    p.decision(chosen);
    p.drive();
    assert_eq!(p.job.workflow().unwrap().1, 1);
    let calls: Vec<_> = p
        .decisions
        .iter()
        .filter_map(|decision| match decision {
            Decision::Call(work) => Some((work.tool.as_str(), work.args.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(calls, [("tool", json!({"for": "tool"}))]);
    refolds(&p);
}

#[test]
fn a_paused_job_is_edited_and_a_second_edit_waits_for_the_first() {
    let mut p = begin();
    p.signal(Signal::Pause);
    let new = with("nodes.first.next", json!([{"to": "last"}]));
    request(&mut p, 0, &new);
    assert!(p.job.has_requested_edit());
    assert_eq!(p.job.refuses_edit(0, &run(&graph())), Some(EditRefusal::Pending));
    request(&mut p, 0, &graph());
    assert_eq!(p.job.ignored(), 1);
    p.drive();
    assert_eq!((p.job.has_requested_edit(), p.job.workflow().unwrap().1), (false, 1));
    refolds(&p);
}

/// Returns the changes that the events after a record tell of.
fn told(p: &Play, from: Seq) -> Vec<String> {
    let events = events(p).into_iter().filter(move |event| event.id.seq > from);
    let changes = events.filter_map(|event| match event.happened {
        Happened::Interaction(InteractionEvent::Signaled { changes, .. }) => changes,
        _ => None,
    });
    changes.map(|changes| changes.to_string()).collect()
}

#[test]
fn an_event_tells_of_an_edit_when_it_comes_into_force() {
    let mut p = begin();
    let before = p.last();
    request(&mut p, 0, &with("nodes.first.next", json!([{"to": "last"}])));
    assert_eq!(told(&p, before), [""; 0]);
    p.drive();
    assert_eq!(told(&p, before), ["~first"]);
    let before = p.last();
    edit(&mut p, 0, &with("nodes.first.next", json!([{"to": "end"}])));
    assert_eq!(told(&p, before), [""; 0], "an edit that does not count is no event");
}

#[test]
fn a_fork_has_the_graph_of_its_source_and_tells_its_own_edits_alone() {
    let mut p = begin();
    edit(&mut p, 0, &with("nodes.first.next", json!([{"to": "last"}])));
    request(&mut p, 1, &graph());
    let mut fork = super::forking::fork(&p, p.last());
    assert!(!fork.job.has_requested_edit());
    assert_eq!((fork.job.workflow().unwrap().1, told(&fork, Seq(0))), (1, vec![]));
    edit(&mut fork, 1, &with("nodes.first.next", json!([{"to": "end"}])));
    assert_eq!(told(&fork, Seq(0)), ["~first"]);
    refolds(&fork);
}

#[test]
fn a_join_that_an_edit_makes_easier_is_met_at_once() {
    let mut p = begin();
    p.answer_with("q1", Answer::respond(json!("yes")));
    p.drive();
    p.answer_with("q2", Answer::respond(json!("yes")));
    p.drive();
    edit(&mut p, 0, &with("nodes.both.work.join", json!({"at_least": 1})));
    assert_eq!(said(&p), json!(["first", "other", "last"]));
    refolds(&p);
}

#[test]
fn events_for_which_no_node_waits_any_more_are_dropped() {
    let mut p = begin();
    go(&mut p);
    let mut new = with("nodes.wait.work.event", json!("come"));
    edit(&mut p, 0, &new);
    new["nodes"]["wait"]["work"]["event"] = json!("go");
    edit(&mut p, 1, &new);
    p.answer_with("q1", Answer::respond(json!("yes")));
    p.drive();
    p.answer_with("q2", Answer::respond(json!("yes")));
    p.drive();
    assert!(p.job.outcome().is_none(), "the event of before does not end the wait");
    go(&mut p);
    p.drive();
    assert_eq!(said(&p), json!(["first", "other", "then", "last"]));
}

#[rstest]
#[case(json!({"type": "agent", "does": {"named": {"agent": "helper", "task": "do it"}}}))]
#[case(json!({"type": "agent", "does": {"workflow": {"workflow": "below", "input": {}}}}))]
#[case(json!({"type": "model", "prompt": "Say it"}))]
#[case(json!({"type": "set"}))]
fn the_results_of_ended_visits_are_shown_whatever_their_node_becomes(#[case] work: Value) {
    let mut before = with("nodes.first.next", json!([{"to": "call"}]));
    before["nodes"]["call"] =
        json!({"work": {"type": "tool", "tool": "tool", "args": {}}, "next": [{"to": "both"}]});
    let mut p = begin_with(&before);
    p.answer_with("q1", Answer::respond(json!("yes")));
    p.drive();
    p.ok("g0.r0.call--1", json!([1, 2]));
    p.drive();
    let mut after = before.clone();
    after["nodes"]["call"]["work"] = work;
    edit(&mut p, 0, &after);
    assert_eq!(p.job.ignored(), 0);
    let graph = p.job.graph().unwrap();
    let shown = graph.visits.iter().find(|visit| visit.visit.to_string() == "call--1").unwrap();
    assert_eq!(shown.output, json!([1, 2]));
    refolds(&p);
}
