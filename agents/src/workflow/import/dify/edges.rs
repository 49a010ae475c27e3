//! The edges of Dify's graphs, with the conditions of their choices.

use proto::lang::Words;
use serde_json::Value;

use super::{
    super::{
        draft::{Draft, Text, list, text_of},
        names::Names,
    },
    condition::{expression, quoted},
    parts::{kind, title},
    reader::Reader,
};

/// Handle of the edges that leave a node after a failure, and the strategy of such a node.
const FAILED: &str = "fail-branch";

/// Adds the edges, those of a choice with their conditions.
pub(super) fn add(reader: &mut Reader<'_>, draft: &mut Draft, graph: &Value, nodes: &[&Value]) {
    for node in nodes.iter().filter(|node| node["parentId"].is_null()) {
        if let Err(why) = one(reader, draft, graph, node) {
            draft.refuse(title(node), kind(node), why);
        }
    }
}

/// Adds the edges that leave a node.
fn one(
    reader: &mut Reader<'_>,
    draft: &mut Draft,
    graph: &Value,
    node: &Value,
) -> Result<(), Words> {
    let (old, names) = (text_of(node, "id"), reader.names);
    let from = if kind(node) == "start" { "START" } else { names.get(old).unwrap_or(old) };
    let leads = |edge: &&Value, fails: bool| {
        text_of(edge, "source") == old && (text_of(edge, "sourceHandle") == FAILED) == fails
    };
    let edges = list(&graph["edges"]);
    let fails = edges.iter().filter(|edge| leads(edge, true));
    on_error(draft, from, node, &targets(names, fails)?)?;
    let own: Vec<&Value> = edges.iter().filter(|edge| leads(edge, false)).collect();
    let ways = match kind(node) {
        "if-else" => cases(reader, &node["data"])?,
        "question-classifier" => classes(&node["data"]),
        _ => vec![("source".to_owned(), None)],
    };
    let is_choice = ways.len() > 1;
    for (handle, condition) in ways {
        let of = |edge: &&Value| !is_choice || text_of(edge, "sourceHandle") == handle;
        let targets = targets(names, own.iter().copied().filter(of))?;
        match targets.as_slice() {
            [] if is_choice => draft.edge(from, "END", condition),
            [_, _, ..] if is_choice => return Err(Text::Several.into()),
            targets => targets.iter().for_each(|to| draft.edge(from, to, condition.clone())),
        }
    }
    Ok(())
}

/// Returns the nodes to which edges lead, each once.
fn targets<'a>(
    names: &'a Names,
    edges: impl Iterator<Item = &'a Value>,
) -> Result<Vec<&'a str>, Words> {
    let mut found = Vec::new();
    for edge in edges {
        let target = text_of(edge, "target");
        let to =
            names.get(target).ok_or_else(|| Words::from(Text::OwnTarget { target: &target }))?;
        if !found.contains(&to) {
            found.push(to);
        }
    }
    Ok(found)
}

/// Gives a node its way on after a failure.
fn on_error(draft: &mut Draft, from: &str, node: &Value, targets: &[&str]) -> Result<(), Words> {
    match (text_of(&node["data"], "error_strategy"), targets) {
        ("" | "none", []) => {}
        (FAILED, []) => draft.on_error(from, "end"),
        (FAILED, [to]) => draft.on_error(from, to),
        (FAILED, [_, _, ..]) => return Err(Text::Several.into()),
        (strategy, _) => return Err(Text::ErrorStrategy { strategy: &strategy }.into()),
    }
    Ok(())
}

type Ways = Vec<(String, Option<String>)>;

/// Returns the ways of an if-else node: the handle of their edges, and the condition.
fn cases(reader: &mut Reader<'_>, data: &Value) -> Result<Ways, Words> {
    // Files of older releases have one case, without a list.
    let own = [data.clone()];
    let cases = match list(&data["cases"]) {
        [] => own.as_slice(),
        cases => cases,
    };
    let mut ways = Ways::new();
    for case in cases {
        let handle = match text_of(case, "case_id") {
            "" => "true",
            id => id,
        };
        ways.push((handle.to_owned(), Some(expression(reader, case)?)));
    }
    ways.push(("false".to_owned(), None));
    Ok(ways)
}

/// Returns the ways of a classifier, whose last class needs no condition.
fn classes(data: &Value) -> Ways {
    let classes = list(&data["classes"]);
    let last = classes.len().saturating_sub(1);
    let way = |(n, class): (usize, &Value)| {
        let condition = format!("reply.class == {}", quoted(text_of(class, "name")));
        (text_of(class, "id").to_owned(), (n < last).then_some(condition))
    };
    classes.iter().enumerate().map(way).collect()
}
