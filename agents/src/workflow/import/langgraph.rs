//! Graphs of LangGraph, as `graph.get_graph().to_json()` writes them. The export has the names of
//! functions and no code, so a node becomes an agent whose task a person completes, and a choice by
//! code becomes a question to the model.

use std::collections::BTreeMap;

use proto::workflow::WorkflowName;
use serde_json::{Value, json};

use super::{
    draft::{Converted, Draft, ImportError, Text, list, text_of},
    names::Names,
};

const START: &str = "__start__";
const END: &str = "__end__";
/// Class of the node that calls tools for the model before it.
const TOOL_NODE: &str = "ToolNode";

#[derive(Debug, Clone, PartialEq, Eq)]
struct Edge<'a> {
    from: &'a str,
    to: &'a str,
    /// Word of the function that chooses; absent for an edge without a choice.
    word: Option<&'a str>,
}

pub(super) fn converted(whole: &Value, name: &WorkflowName) -> Result<Converted, ImportError> {
    let nodes = list(&whole["nodes"]);
    let (mut draft, mut names) = (Draft::default(), Names::default());
    let edges: Vec<Edge<'_>> = list(&whole["edges"]).iter().map(edge).collect();
    let loops = tool_loops(nodes, &edges);
    let mut count = 0;
    for node in nodes {
        let id = id_of(node);
        if [START, END].contains(&id.as_str()) || loops.contains_key(id.as_str()) {
            continue;
        }
        count += 1;
        let kind = class(node);
        if let Some((parent, _)) = id.split_once(':') {
            draft.refuse(&id, kind, Text::Subgraph { parent: &parent });
        } else if kind == TOOL_NODE {
            draft.refuse(&id, kind, Text::Code);
        } else {
            agent(&mut draft, &mut names, &id);
        }
    }
    if count == 0 {
        return Err(ImportError::Unread(Text::NoNodes.into()));
    }
    ways(&mut draft, &mut names, nodes, &edges, &loops)?;
    draft.state.insert(
        "messages".to_owned(),
        json!({"schema": {"type": "array"}, "reduce": "append", "initial": []}),
    );
    draft.finish(json!({
        "name": name,
        "version": 1,
        "description": "Imported from LangGraph.",
        "input": {
            "type": "object", "required": ["task"], "properties": {"task": {"type": "string"}},
        },
        "output": {"answer": "{{ state.messages | last }}"},
    }))
}

fn id_of(node: &Value) -> String {
    // Older releases number the nodes.
    node["id"].as_str().map_or_else(|| node["id"].to_string(), str::to_owned)
}

/// Returns the class of a node's function.
fn class(node: &Value) -> &str {
    list(&node["data"]["id"])
        .last()
        .and_then(Value::as_str)
        .unwrap_or_else(|| text_of(node, "type"))
}

fn edge(edge: &Value) -> Edge<'_> {
    let (from, to) = (text_of(edge, "source"), text_of(edge, "target"));
    let is_choice = edge["conditional"].as_bool().unwrap_or_default();
    let word = is_choice.then(|| edge["data"].as_str().unwrap_or(to));
    Edge { from, to, word }
}

/// Returns the nodes that call the tools of one agent and lead back to it, with that agent. An agent
/// of a workflow calls its tools itself.
fn tool_loops<'a>(nodes: &'a [Value], edges: &[Edge<'a>]) -> BTreeMap<&'a str, &'a str> {
    let tools = nodes.iter().filter(|node| class(node) == TOOL_NODE);
    let loops = tools.filter_map(|node| {
        let id = node["id"].as_str()?;
        let mut back = edges.iter().filter(|edge| edge.from == id).map(|edge| edge.to);
        let mut in_front = edges.iter().filter(|edge| edge.to == id).map(|edge| edge.from);
        match (back.next(), back.next(), in_front.next(), in_front.next()) {
            (Some(agent), None, Some(from), None) if agent == from => Some((id, agent)),
            (_, _, _, _) => None,
        }
    });
    loops.collect()
}

fn agent(draft: &mut Draft, names: &mut Names, old: &str) {
    let id = names.add(old, old, "node");
    let task = format!("{old}: {{{{ input.task }}}}\nSo far: {{{{ state.messages }}}}");
    let write = json!({"messages": "{{ result }}"});
    draft.node(&id, "agent", &json!({"title": old, "task": task, "write": write}));
    draft.notes.push(Text::NoteAgent { node: &id }.into());
}

/// Adds the edges. A choice between several ways asks the model.
fn ways(
    draft: &mut Draft,
    names: &mut Names,
    nodes: &[Value],
    edges: &[Edge<'_>],
    loops: &BTreeMap<&str, &str>,
) -> Result<(), ImportError> {
    let named = |names: &Names, old: &str| match old {
        START => Some("START".to_owned()),
        END => Some("END".to_owned()),
        _ => names.get(old).map(str::to_owned),
    };
    if !edges.iter().any(|edge| edge.from == START) {
        return Err(ImportError::Unread(Text::NoStart.into()));
    }
    for node in nodes {
        let old = id_of(node);
        let Some(from) = named(names, &old) else { continue };
        let own = |edge: &&Edge<'_>| edge.from == old && !loops.contains_key(edge.to);
        let mut targets = Vec::new();
        for edge in edges.iter().filter(own) {
            match named(names, edge.to) {
                Some(to) => targets.push((to, edge.word)),
                // The other node is refused already, unless it does not exist.
                None if nodes.iter().any(|node| id_of(node) == edge.to) => {}
                None => draft.refuse(&old, class(node), Text::OwnTarget { target: &edge.to }),
            }
        }
        let (choices, plain): (Vec<_>, Vec<_>) =
            targets.into_iter().partition(|(_, word)| word.is_some());
        for (to, _) in &plain {
            draft.edge(&from, to, None);
        }
        match choices.as_slice() {
            [] => {}
            [(to, _)] if plain.is_empty() => draft.edge(&from, to, None),
            _ if !plain.is_empty() => draft.refuse(&old, class(node), Text::Several),
            choices => {
                let words: Vec<&str> = choices.iter().filter_map(|(_, word)| *word).collect();
                let way =
                    names.unique(&format!("{}-way", if from == "START" { "start" } else { &from }));
                let prompt = format!(
                    "The task: {{{{ input.task }}}}\nSo far: {{{{ state.messages }}}}\nWhich way goes on? {}",
                    words.join(", ")
                );
                let reply = json!({
                    "type": "object", "required": ["way"],
                    "properties": {"way": {"enum": words}},
                });
                draft.node(&way, "model", &json!({"prompt": prompt, "reply": reply}));
                draft.notes.push(Text::NoteChoice { node: &way }.into());
                draft.edge(&from, &way, None);
                let last = choices.len() - 1;
                for (n, (to, word)) in choices.iter().enumerate() {
                    let word = json!(word.unwrap_or_default());
                    draft.edge(&way, to, (n < last).then(|| format!("reply.way == {word}")));
                }
            }
        }
    }
    Ok(())
}
