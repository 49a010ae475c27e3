//! The graph of a workflow in views and on request, and the events of its nodes.

use std::collections::BTreeMap;

use proto::{
    event::{Event, Happened, NodePhase},
    fact::Signal,
    interaction::{Answer, Verdict},
    message::Usage,
    step::StepState,
    workflow::{GraphEdge, VisitView, WorkflowGraph},
};
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    play::Play,
    workflows::{asking, drafting, fits, submit, submit_with, tool},
};
use crate::{Job, events::Projection};

fn graph(play: &Play) -> WorkflowGraph {
    play.job.graph().unwrap()
}

/// Returns the entered nodes of the view: state, visits and failures.
fn nodes(play: &Play) -> String {
    let view = play.view().graph.unwrap();
    let nodes = view.nodes.iter().map(|node| {
        let failed = if node.failed > 0 { format!(" ✗{}", node.failed) } else { String::new() };
        format!("{} {} ×{}{failed}", node.id, node.state, node.visits)
    });
    nodes.collect::<Vec<_>>().join(", ")
}

/// Returns the edges that paths took, with their numbers.
fn taken(graph: &WorkflowGraph) -> String {
    let taken = graph.edges.iter().filter(|edge| edge.taken > 0);
    let ways = taken.map(|GraphEdge { edge, taken }| {
        let kind = json!(edge.kind).as_str().unwrap().to_owned();
        format!("{} {kind} {} ×{taken}", edge.from, edge.to)
    });
    ways.collect::<Vec<_>>().join(", ")
}

fn visit<'g>(graph: &'g WorkflowGraph, name: &str) -> &'g VisitView {
    graph.visits.iter().find(|visit| visit.visit.to_string() == name).unwrap()
}

pub(super) fn events(play: &Play) -> Vec<Event> {
    let (mut job, mut projection) = (Job::new(play.job.id().clone()), Projection::default());
    let mut events = Vec::new();
    for (at, family, record) in &play.log {
        job.apply(*at, family, record.as_ref());
        events.extend(projection.take(at.seq, at.time, record.as_ref().ok(), &job));
    }
    events
}

/// Returns the events of nodes, one line each.
fn told(events: &[Event]) -> Vec<String> {
    let nodes = events.iter().filter_map(|event| match &event.happened {
        Happened::Node(node) => Some(node),
        _ => None,
    });
    nodes
        .map(|node| match &node.phase {
            NodePhase::Entered { kind } => format!("{} entered {}", node.visit, kind.as_str()),
            NodePhase::Ended { state, error } => {
                let error = error.as_ref().map(|_| " with an error").unwrap_or_default();
                format!("{} {state}{error}", node.visit)
            }
            NodePhase::Routed { to, way: _, when } => {
                let when = when.as_ref().map(|when| format!(" [{when}]")).unwrap_or_default();
                format!("{} → {to}{when}", node.visit)
            }
        })
        .collect()
}

/// Plays a draft that is good at the second try.
fn drafted() -> Play {
    let mut p = submit(drafting());
    p.drive();
    p.done("g0.r0.draft--1.n1.t1", true, "bad");
    p.drive();
    p.turn("g0.r0.mark--1.n1.t1", fits(json!({"mark": 4})));
    p.drive();
    p.done("g0.r0.draft--2.n1.t1", true, "good");
    p.drive();
    p.turn("g0.r0.mark--2.n1.t1", fits(json!({"mark": 9})));
    p
}

#[test]
fn a_view_has_the_entered_nodes_and_the_current_visits() {
    let mut p = submit(drafting());
    assert_eq!(p.view().graph.unwrap().nodes, []);
    p.drive();
    let view = p.view().graph.unwrap();
    assert_eq!((view.name.as_str(), view.version, view.visits), ("test", 1, 1));
    assert_eq!(view.current.iter().map(ToString::to_string).collect::<Vec<_>>(), ["draft--1"]);
    assert_eq!(nodes(&p), "draft running ×1");
    let mut p = drafted();
    assert_eq!(nodes(&p), "draft completed ×2, mark completed ×2, good completed ×1");
    p.drive();
    assert_eq!(nodes(&p), "draft completed ×2, mark completed ×2, good completed ×2");
    assert_eq!(p.view().graph.unwrap().current, []);
}

#[test]
fn a_job_without_a_workflow_has_no_graph() {
    let p = Play::planned(super::play::agent(|_| {}), super::play::plan("a"));
    assert!(p.view().graph.is_none() && p.job.graph().is_none());
}

#[test]
fn a_graph_counts_the_ways_of_a_loop_and_shows_its_visits() {
    let mut p = drafted();
    p.drive();
    let graph = graph(&p);
    assert_eq!(
        taken(&graph),
        "draft next mark ×2, good next end ×1, good next draft ×1, mark next good ×2"
    );
    let first = visit(&graph, "good--1");
    assert_eq!(
        (first.to.as_ref().unwrap().to_string(), first.when.as_ref().unwrap().as_str()),
        ("draft".to_owned(), "visits.draft < 3")
    );
    let draft = visit(&graph, "draft--2");
    assert_eq!(draft.input, json!({"prompt": "Answer T-1, try 2"}));
    assert_eq!((&draft.output, draft.turns), (&json!("good"), 1));
    assert_eq!(draft.writes.iter().map(ToString::to_string).collect::<Vec<_>>(), ["draft"]);
    assert!(draft.ended >= Some(draft.entered));
    assert_eq!(graph.state, json!({"draft": "good", "score": 9}));
    assert_eq!(graph.digest, graph.definition.digest());
}

#[test]
fn the_visits_that_ended_last_are_those_of_the_last_advance() {
    let mut p = drafted();
    p.drive();
    let ended = p.job.ended_visits().inspect(|one| assert!(!one.took.is_negative()));
    let mut ended: Vec<_> = ended.map(|one| format!("{} {}", one.node, one.state)).collect();
    ended.sort();
    assert_eq!(ended, ["good completed", "mark completed"]);
}

#[test]
fn the_cost_of_a_turn_is_that_of_its_visit_and_node() {
    let p = drafted();
    let graph = graph(&p);
    let spent = |name: &str| visit(&graph, name).spent.usage;
    assert!(spent("draft--1") != Usage::default());
    let mut sum = spent("draft--1");
    sum += spent("draft--2");
    let draft = graph.nodes.iter().find(|node| node.shape.id.as_str() == "draft").unwrap();
    assert_eq!(draft.spent.usage, sum);
    let total: u64 = graph.nodes.iter().map(|node| node.spent.tokens()).sum();
    assert_eq!(total, p.view().spent.tokens());
}

#[test]
fn the_events_of_nodes_tell_entries_ends_and_conditions() {
    let p = {
        let mut p = drafted();
        p.drive();
        p
    };
    let events = events(&p);
    assert_eq!(
        told(&events),
        [
            "draft--1 entered model",
            "draft--1 completed",
            "draft--1 → mark",
            "mark--1 entered model",
            "mark--1 completed",
            "mark--1 → good",
            "good--1 entered branch",
            "good--1 completed",
            "good--1 → draft [visits.draft < 3]",
            "draft--2 entered model",
            "draft--2 completed",
            "draft--2 → mark",
            "mark--2 entered model",
            "mark--2 completed",
            "mark--2 → good",
            "good--2 entered branch",
            "good--2 completed",
            "good--2 → end [state.score >= 8]",
        ]
    );
    // The events of nodes follow all others of their record.
    for (one, next) in events.iter().zip(events.iter().skip(1)) {
        let is_node = |event: &Event| matches!(event.happened, Happened::Node(_));
        assert!(one.id < next.id);
        assert!(one.id.seq != next.id.seq || !is_node(one) || is_node(next));
    }
    assert!(
        matches!(&events.last().unwrap().happened, Happened::Job(job) if job.state.is_terminal())
    );
}

/// Two branches, of which the first that ends wins.
fn racing() -> Value {
    let next = json!([{"to": "end"}]);
    json!({
        "start": "split",
        "nodes": {
            "split": {
                "work": {"type": "parallel", "join": "any", "branches": [
                    {"name": "one", "start": "a", "nodes": ["a"]},
                    {"name": "two", "start": "b", "nodes": ["b"]},
                ]},
                "next": next,
            },
            "a": tool(&next),
            "b": tool(&next),
        },
    })
}

#[test]
fn a_join_skips_the_paths_that_it_does_not_wait_for() {
    let mut p = submit(racing());
    p.drive();
    assert_eq!(nodes(&p), "split running ×1, a running ×1, b running ×1");
    p.ok("g0.r0.b--1", json!(1));
    p.drive();
    assert_eq!(nodes(&p), "split completed ×1, a skipped ×1, b completed ×1");
    assert_eq!(
        taken(&graph(&p)),
        "b next join:split ×1, split branch a ×1, split branch b ×1, join:split next end ×1"
    );
    let told = told(&events(&p));
    assert!(told.contains(&"a--1 skipped".to_owned()), "{told:?}");
}

#[rstest]
#[case::answer(false, "ask next end")]
#[case::silence(true, "ask timeout late")]
fn the_way_of_a_question_is_its_answer_or_its_time(#[case] late: bool, #[case] way: &str) {
    let mut p = submit(asking());
    p.drive();
    assert_eq!(nodes(&p), "ask waiting ×1");
    if late {
        p.fire("ask-q1");
    } else {
        let value = Some(json!("yes"));
        let decision = Verdict::Respond;
        p.answer_with("q1", Answer { decision, value, text: None, digest: None, remember: None });
    }
    p.drive();
    assert!(taken(&graph(&p)).contains(way), "{}", taken(&graph(&p)));
}

#[test]
fn a_node_that_fails_ends_the_job_and_says_why() {
    let mut p = submit(json!({
        "state": {"n": {"schema": {"type": "number"}, "initial": 0}},
        "start": "bad",
        "nodes": {"bad": {"work": {"type": "set"}, "write": {"n": "text"}, "next": []}},
    }));
    p.drive();
    assert_eq!(nodes(&p), "bad failed ×1 ✗1");
    let graph = graph(&p);
    assert!(visit(&graph, "bad--1").error.as_ref().unwrap().contains("state.n"));
    assert_eq!(told(&events(&p)), ["bad--1 entered set", "bad--1 failed with an error"]);
}

#[test]
fn a_cancelled_job_has_no_current_visits() {
    let mut p = submit(racing());
    p.drive();
    p.signal(Signal::Cancel);
    p.drive();
    let view = p.view().graph.unwrap();
    assert_eq!(view.current, []);
    assert!(view.nodes.iter().all(|node| node.state == StepState::Canceled), "{}", nodes(&p));
}

#[test]
fn a_map_counts_the_visits_of_its_items() {
    let next = json!([{"to": "end"}]);
    let mut p = submit_with(
        json!({
            "start": "each",
            "nodes": {
                "each": {
                    "work": {"type": "map", "over": "input.rows", "item": "row", "max_parallel": 4,
                        "max_items": 5, "start": "judge", "nodes": ["judge"], "join": "all"},
                    "next": next,
                },
                "judge": tool(&next),
            },
        }),
        json!({"rows": ["x", "y", "z"]}),
    );
    p.drive();
    p.ok("g0.r0.judge--1--1", json!(1));
    p.drive();
    // An item that has ended does not hide those that run.
    assert_eq!(nodes(&p), "each running ×1, judge running ×3");
    let graph = graph(&p);
    assert_eq!(taken(&graph), "each item judge ×3, judge next join:each ×1");
    assert_eq!(graph.current.len(), 3);
}

#[test]
fn a_rollback_takes_visits_out_of_the_graph() {
    let mut p = submit(drafting());
    p.drive();
    p.done("g0.r0.draft--1.n1.t1", true, "bad");
    p.drive();
    let before = p.last();
    p.turn("g0.r0.mark--1.n1.t1", fits(json!({"mark": 4})));
    p.drive();
    assert_eq!(p.view().graph.unwrap().visits, 4);
    assert!(p.back(before));
    assert_eq!(p.view().graph.unwrap().visits, 2);
    assert_eq!(nodes(&p), "draft completed ×1, mark running ×1");
}

#[test]
fn a_large_value_is_replaced_by_its_size() {
    let mut p = submit(drafting());
    p.drive();
    p.done("g0.r0.draft--1.n1.t1", true, &"x".repeat(20_000));
    p.drive();
    let graph = graph(&p);
    let left_out = json!({"left_out": {"bytes": 20_002}});
    assert_eq!(visit(&graph, "draft--1").output, left_out);
    assert_eq!(graph.state["draft"], left_out);
}

#[test]
fn the_progress_in_a_view_is_small() {
    // The most visits that a workflow may have: 500 nodes, one after another.
    let node = |n: usize| {
        let to = if n < 499 { format!("a-rather-long-name-{}", n + 1) } else { "end".to_owned() };
        (
            format!("a-rather-long-name-{n}"),
            json!({"work": {"type": "branch"}, "next": [{"to": to}]}),
        )
    };
    let nodes: BTreeMap<String, Value> = (0..500).map(node).collect();
    let mut p = submit(json!({
        "limits": {"steps": 500, "visits": 1}, "start": "a-rather-long-name-0", "nodes": nodes,
    }));
    p.drive();
    let view = p.view().graph.unwrap();
    assert_eq!((view.nodes.len(), view.visits), (500, 500));
    let bytes = serde_json::to_string(&view).unwrap().len();
    assert!(bytes < 48 * 1024, "{bytes} bytes");
    let small = serde_json::to_string(&drafted().view().graph.unwrap()).unwrap().len();
    assert!(small < 600, "{small} bytes");
}
