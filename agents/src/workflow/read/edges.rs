//! The edge spelling: lists of nodes and edges, turned into the block spelling.
//!
//! Several edges without a condition from one node run their targets at the same time. They become a
//! parallel node, which joins at the node that every path from them passes: the immediate
//! post-dominator.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::{algo::dominators, graphmap::DiGraphMap};
use serde_json::Value;

use super::{
    fields::{Fields, Reading},
    words::Text,
};
use crate::source::{
    Text as FileText,
    tree::{Field, Kind, Node, Place},
};

/// Words of the design and of LangGraph for the ends of a graph.
const STARTS: &[&str] = &["START", "__start__", "start"];
const ENDS: &[&str] = &["END", "__end__", "end"];

/// Name of the end in this module.
const END: &str = "end";

#[derive(Clone)]
struct Edge {
    at: Place,
    to: String,
    condition: Option<Node>,
}

struct Spelled {
    at: Place,
    fields: Vec<Field>,
}

/// Returns the block spelling of a file in the edge spelling, or `None` for one in the block
/// spelling.
pub(super) fn blocks(tree: &Node, reading: &mut Reading) -> Option<Node> {
    let is_edges = tree.field("edges").is_some()
        || tree.field("nodes").is_some_and(|nodes| matches!(nodes.value.kind, Kind::List(_)));
    if !is_edges {
        return None;
    }
    let mut fields = reading.fields(tree, "")?;
    let nodes = fields.need("nodes", reading).and_then(|node| reading.items(node, "nodes"));
    let edges = fields.get("edges").and_then(|node| reading.items(node, "edges"));
    let mut spelled = BTreeMap::new();
    let mut order = Vec::new();
    for (n, node) in nodes.unwrap_or_default().iter().enumerate() {
        let path = format!("nodes[{n}]");
        if let Some((id, node)) = one(node, &path, reading) {
            if spelled.contains_key(&id) {
                reading.mistake(node.at, &path, FileText::Twice { field: &id });
            }
            order.push(id.clone());
            spelled.insert(id, node);
        }
    }
    let (mut ways, start) = ways(edges.unwrap_or_default(), reading);
    let entries: BTreeSet<&str> = ways.values().flatten().map(|edge| edge.to.as_str()).collect();
    let start = start.or_else(|| order.iter().find(|id| !entries.contains(id.as_str())).cloned());
    let start = start.or_else(|| order.first().cloned());
    parallel_calls(&mut spelled, &mut order, reading);
    let forks = forks(&mut ways, &spelled);
    let (joined, forks) = join(&ways, &forks, reading);
    let mut out = Vec::new();
    for id in &order {
        let Some(Spelled { at, fields }) = spelled.remove(id) else { continue };
        let mut fields = fields;
        if let Some(next) = joined.get(id) {
            fields.push(Field { name: "next".into(), at, value: routes(at, next) });
        }
        out.push(Field { name: id.clone(), at, value: Node { at, kind: Kind::Fields(fields) } });
    }
    for (id, targets) in &forks {
        let at = targets.first().map_or(tree.at, |edge| edge.at);
        out.push(fork(id, at, targets, joined.get(id)));
    }
    Some(head(tree, start, out))
}

/// Reads one node: its id, type and configuration.
fn one(node: &Node, path: &str, reading: &mut Reading) -> Option<(String, Spelled)> {
    let mut fields: Fields<'_> = reading.fields(node, path)?;
    let id = fields.need("id", reading)?;
    let id = reading.text(id, &fields.below("id"))?.to_owned();
    let mut all = Vec::new();
    for name in ["type", "title", "write", "on_error", "retry", "parallel"] {
        fields.get(name);
        all.extend(node.field(name).cloned());
    }
    if let Some(config) = fields.get("config") {
        let inner = reading.fields(config, &fields.below("config"));
        all.extend(inner.map(|inner| inner.all().to_vec()).unwrap_or_default());
    }
    fields.close(reading);
    // A node without several edges may say that it runs beside others; only edges decide.
    let is_calls = all.iter().any(|field| field.name == "calls");
    all.retain(|field| field.name != "parallel" || is_calls);
    Some((id, Spelled { at: node.at, fields: all }))
}

fn ways(edges: &[Node], reading: &mut Reading) -> (BTreeMap<String, Vec<Edge>>, Option<String>) {
    let (mut ways, mut start) = (BTreeMap::<String, Vec<Edge>>::new(), None);
    for (n, edge) in edges.iter().enumerate() {
        let path = format!("edges[{n}]");
        let Some(mut fields) = reading.fields(edge, &path) else { continue };
        let source = fields.need("source", reading);
        let target = fields.need("target", reading);
        let condition = fields.get("condition").cloned();
        let source = source.and_then(|node| reading.text(node, &fields.below("source")));
        let to = target.and_then(|node| reading.text(node, &fields.below("target")));
        fields.close(reading);
        let (Some(source), Some(to)) = (source, to) else { continue };
        let to = if ENDS.contains(&to) { END } else { to };
        if STARTS.contains(&source) {
            start = Some(to.to_owned());
            continue;
        }
        let at = target.map_or(edge.at, |node| node.at);
        let edge = Edge { at, to: to.to_owned(), condition: condition.map(bare) };
        ways.entry(source.to_owned()).or_default().push(edge);
    }
    (ways, start)
}

/// Returns a condition without the braces that Jinja's authors write around it.
fn bare(node: Node) -> Node {
    let Kind::Scalar(Value::String(text)) = &node.kind else { return node };
    let inner = text.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    match inner {
        Some(inner) => Node { at: node.at, kind: Kind::Scalar(Value::from(inner.trim())) },
        None => node,
    }
}

/// Turns a node with several `calls` into a parallel node with a branch for each.
fn parallel_calls(
    spelled: &mut BTreeMap<String, Spelled>,
    order: &mut Vec<String>,
    reading: &mut Reading,
) {
    for id in order.clone() {
        let Some(node) = spelled.get_mut(&id) else { continue };
        let Some(calls) = node.fields.iter().find(|field| field.name == "calls").cloned() else {
            continue;
        };
        let is_parallel = node.fields.iter().any(|field| {
            field.name == "parallel" && field.value.kind == Kind::Scalar(Value::Bool(true))
        });
        node.fields.retain(|field| !["calls", "parallel", "type"].contains(&field.name.as_str()));
        let path = format!("nodes.{id}.calls");
        let Some(items) = reading.items(&calls.value, &path) else { continue };
        if !is_parallel {
            reading.mistake(calls.at, &path, Text::CallsNeedParallel);
        }
        let at = node.at;
        let mut branches = Vec::new();
        let mut made = Vec::new();
        for (n, call) in items.iter().enumerate() {
            let Some(fields) = reading.fields(call, &format!("{path}[{n}]")) else { continue };
            let name = format!("{id}-{}", n + 1);
            let mut fields = fields.all().to_vec();
            fields.push(text("type", call.at, "tool"));
            branches.push(text(&format!("call-{}", n + 1), call.at, &name));
            made.push((name, Spelled { at: call.at, fields }));
        }
        node.fields.push(text("type", at, "parallel"));
        let value = Node { at: calls.value.at, kind: Kind::Fields(branches) };
        node.fields.push(Field { name: "branches".into(), at: calls.at, value });
        for (name, node) in made {
            order.push(name.clone());
            spelled.insert(name, node);
        }
    }
}

/// Moves the unconditional edges of a node that has several to a node of their own.
fn forks(
    ways: &mut BTreeMap<String, Vec<Edge>>,
    spelled: &BTreeMap<String, Spelled>,
) -> BTreeMap<String, Vec<Edge>> {
    let mut forks = BTreeMap::new();
    for (id, edges) in ways.iter_mut() {
        let (plain, mut conditional): (Vec<_>, Vec<_>) =
            edges.drain(..).partition(|edge| edge.condition.is_none());
        if let [first, _, ..] = plain.as_slice() {
            let mut name = format!("{id}-fork");
            while spelled.contains_key(&name) {
                name.push('x');
            }
            conditional.push(Edge { at: first.at, to: name.clone(), condition: None });
            forks.insert(name, plain);
        } else {
            conditional.extend(plain);
        }
        *edges = conditional;
    }
    forks
}

/// Finds the join of every fork, and ends the paths of its branches there. Returns the ways on from
/// every node; that of a fork is its join.
fn join(
    ways: &BTreeMap<String, Vec<Edge>>,
    forks: &BTreeMap<String, Vec<Edge>>,
    reading: &mut Reading,
) -> (BTreeMap<String, Vec<Edge>>, BTreeMap<String, Vec<Edge>>) {
    let mut reversed: DiGraphMap<&str, ()> = DiGraphMap::new();
    reversed.add_node(END);
    for (id, edges) in ways.iter().chain(forks) {
        for edge in edges {
            reversed.add_edge(edge.to.as_str(), id.as_str(), ());
            if !ways.contains_key(&edge.to) && !forks.contains_key(&edge.to) && edge.to != END {
                reversed.add_edge(END, edge.to.as_str(), ());
            }
        }
    }
    let post = dominators::simple_fast(&reversed, END);
    let (mut joined, mut branches) = (ways.clone(), forks.clone());
    for (fork, targets) in forks {
        let at = targets.first().map_or(Place::START, |edge| edge.at);
        let Some(join) = post.immediate_dominator(fork.as_str()) else {
            reading.mistake(at, "edges", Text::Unpaired { node: &fork.trim_end_matches("-fork") });
            continue;
        };
        // An edge from the fork to its join runs nothing.
        if let Some(branches) = branches.get_mut(fork) {
            branches.retain(|edge| edge.to != join);
        }
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for (branch, target) in targets.iter().enumerate() {
            let mut queue = vec![target.to.as_str()];
            while let Some(id) = queue.pop() {
                if id == join || id == END {
                    continue;
                }
                match seen.insert(id, branch) {
                    Some(other) if other != branch => {
                        let source = fork.trim_end_matches("-fork");
                        let why = Text::BranchesMeet { node: &source, at: &id, join: &join };
                        reading.mistake(target.at, "edges", why);
                        break;
                    }
                    Some(_) => continue,
                    None => {}
                }
                let on = ways.get(id).or_else(|| forks.get(id)).into_iter().flatten();
                queue.extend(on.map(|edge| edge.to.as_str()));
            }
        }
        let way = Edge { at, to: join.to_owned(), condition: None };
        joined.entry(fork.clone()).or_insert_with(|| vec![way]);
        for id in seen.keys() {
            if forks.contains_key(*id) {
                let at = forks[*id].first().map_or(at, |edge| edge.at);
                let inner = post.immediate_dominator(*id).unwrap_or(END);
                let to = if inner == join { END } else { inner }.to_owned();
                joined.insert((*id).to_owned(), vec![Edge { at, to, condition: None }]);
            }
            for edge in joined.get_mut(*id).into_iter().flatten().filter(|edge| edge.to == join) {
                END.clone_into(&mut edge.to);
            }
        }
    }
    (joined, branches)
}

/// Writes the ways on as `next`. A last way with a condition is an error of the block spelling too,
/// so the end is added to it as in the design.
fn routes(at: Place, edges: &[Edge]) -> Node {
    if let [Edge { at, to, condition: None }] = edges {
        return Node { at: *at, kind: Kind::Scalar(Value::from(to.as_str())) };
    }
    let mut items: Vec<Node> = edges
        .iter()
        .map(|edge| {
            let condition = edge.condition.clone();
            let when = condition.map(|value| Field { name: "when".into(), at: value.at, value });
            let fields = when.into_iter().chain([text("to", edge.at, &edge.to)]).collect();
            Node { at: edge.at, kind: Kind::Fields(fields) }
        })
        .collect();
    if edges.last().is_some_and(|edge| edge.condition.is_some()) {
        items.push(Node { at, kind: Kind::Fields(vec![text("to", at, END)]) });
    }
    Node { at, kind: Kind::List(items) }
}

fn fork(id: &str, at: Place, targets: &[Edge], next: Option<&Vec<Edge>>) -> Field {
    let branches: Vec<Field> =
        targets.iter().map(|edge| text(&edge.to, edge.at, &edge.to)).collect();
    let mut fields = vec![
        text("type", at, "parallel"),
        Field { name: "branches".into(), at, value: Node { at, kind: Kind::Fields(branches) } },
    ];
    if let Some(next) = next {
        fields.push(Field { name: "next".into(), at, value: routes(at, next) });
    }
    Field { name: id.to_owned(), at, value: Node { at, kind: Kind::Fields(fields) } }
}

/// Writes the head of the file in the words of the block spelling.
fn head(tree: &Node, start: Option<String>, nodes: Vec<Field>) -> Node {
    let Kind::Fields(fields) = &tree.kind else { return tree.clone() };
    let mut limits = Vec::new();
    let mut out = Vec::new();
    for field in fields {
        let renamed = |name: &str| Field { name: name.to_owned(), ..field.clone() };
        match field.name.as_str() {
            "nodes" | "edges" => {}
            "name" => out.push(renamed("workflow")),
            "description" => out.push(renamed("about")),
            "max_steps" => limits.push(renamed("steps")),
            "timeout" => limits.push(renamed("deadline")),
            _ => out.push(field.clone()),
        }
    }
    let has = |name: &str, out: &[Field]| out.iter().any(|field| field.name == name);
    if !limits.is_empty() {
        let value = Node { at: tree.at, kind: Kind::Fields(limits) };
        match out.iter_mut().find(|field| field.name == "limits") {
            Some(Field { value: Node { kind: Kind::Fields(own), .. }, .. }) => {
                if let Kind::Fields(more) = value.kind {
                    own.extend(more);
                }
            }
            Some(_) => {}
            None => out.push(Field { name: "limits".into(), at: tree.at, value }),
        }
    }
    if let Some(start) = start
        && !has("start", &out)
    {
        out.push(text("start", tree.at, &start));
    }
    let at = tree.field("nodes").map_or(tree.at, |field| field.value.at);
    out.push(Field { name: "nodes".into(), at, value: Node { at, kind: Kind::Fields(nodes) } });
    Node { at: tree.at, kind: Kind::Fields(out) }
}

fn text(name: &str, at: Place, value: &str) -> Field {
    let value = Node { at, kind: Kind::Scalar(Value::from(value)) };
    Field { name: name.to_owned(), at, value }
}
