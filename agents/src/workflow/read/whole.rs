//! A whole file in the block spelling, read to a workflow.

use std::collections::{BTreeMap, BTreeSet};

use proto::workflow::{
    Key, Limits, NODES_MAX, Node, NodeId, Reducer, STATE_KEYS_MAX, STEPS_MAX, StateSlot,
    TemplateValue, VISITS_MAX, Work, Workflow, WorkflowName, Yield, apply,
};
use serde_json::Value;

use super::{
    fields::{Fields, Places, Reading},
    graph,
    known::Known,
    names::{Names, no_key, no_node},
    nodes::Nodes,
    pending::{Pending, Seen},
    schema::{self, Shape},
    values::{duration, no_secrets},
    words::Text,
};
use crate::{
    source::{Text as FileText, meant, tree::Node as Tree},
    workflow::evaluate::Evaluator,
};

/// Reads a whole file. Without a result, a mistake has been reported.
pub(super) fn workflow(tree: &Tree, known: &Known, reading: &mut Reading) -> Option<Workflow> {
    let mut fields = reading.fields(tree, "")?;
    no_secrets(reading, "", tree, "");
    let name = name(&mut fields, reading);
    let version = match fields.get("version") {
        Some(node) => reading.number(node, "version", 1, u32::MAX),
        None => Some(1),
    };
    let about = fields.text("about", reading).unwrap_or_default().to_owned();
    let input = match fields.get("input") {
        Some(node) => schema::schema(reading, node, "input"),
        None => None,
    };
    let state = match fields.get("state") {
        Some(node) => slots(node, reading),
        None => BTreeMap::new(),
    };
    let limits = match fields.get("limits") {
        Some(node) => limits(node, reading),
        None => Limits::default(),
    };
    let output = fields.get("output");
    let start = fields.need("start", reading);
    let listed = fields.need("nodes", reading);
    fields.close(reading);

    let listed = reading.fields(listed?, "nodes")?;
    let mut nodes =
        Nodes { reading: &mut *reading, known, pending: Vec::new(), references: Vec::new() };
    let (mut read, mut places, mut ids) = (BTreeMap::new(), Places::new(), BTreeSet::new());
    for field in listed.all() {
        let path = format!("nodes.{}", field.name);
        let id = nodes.name(NodeId::new(&field.name), field.at, &path);
        let Some(id) = id else { continue };
        ids.insert(id.to_string());
        places.insert(id.clone(), &field.value);
        if let Some(node) = nodes.node(&id, &field.value, &path) {
            read.insert(id, node);
        }
    }
    let start = start.and_then(|node| nodes.reference(node, "start"));
    let output = output.map(|node| nodes.template(None, node, "output", Seen::Nothing));
    let (pending, references) = (nodes.pending, nodes.references);
    if ids.len() > NODES_MAX {
        reading.mistake(listed.node.at, "nodes", Text::TooMany { max: &NODES_MAX });
        return None;
    }
    let names: Vec<&str> = ids.iter().map(String::as_str).collect();
    for reference in &references {
        if !ids.contains(reference.to.as_str()) {
            let why = no_node(reference.to.as_str(), &names);
            reading.mistake(reference.at, &reference.path, why);
        }
    }
    keys_exist(&read, &places, &state, reading);
    let is_whole = read.len() == ids.len()
        && references.iter().all(|reference| ids.contains(reference.to.as_str()));
    let mut workflow = Workflow {
        name: name?,
        version: version.unwrap_or(1),
        about,
        input,
        state,
        output,
        limits,
        start: start?,
        nodes: read,
    };
    if is_whole {
        graph::check(&mut workflow, &places, known, reading);
    }
    expressions(&workflow, &ids, &pending, reading);
    Some(workflow)
}

fn name(fields: &mut Fields<'_>, reading: &mut Reading) -> Option<WorkflowName> {
    let node = fields.need("workflow", reading)?;
    let text = reading.text(node, "workflow")?;
    let name = WorkflowName::new(text);
    name.map_err(|invalid| reading.mistake(node.at, "workflow", invalid.words())).ok()
}

fn slots(node: &Tree, reading: &mut Reading) -> BTreeMap<Key, StateSlot> {
    let Some(fields) = reading.fields(node, "state") else { return BTreeMap::new() };
    let mut slots = BTreeMap::new();
    for field in fields.all() {
        let path = format!("state.{}", field.name);
        let key = Key::new(&field.name)
            .map_err(|invalid| reading.mistake(field.at, &path, invalid.words()));
        let slot = slot(&field.value, &path, reading);
        if let (Ok(key), Some(slot)) = (key, slot) {
            slots.insert(key, slot);
        }
    }
    if slots.len() > STATE_KEYS_MAX {
        reading.mistake(node.at, "state", Text::TooMany { max: &STATE_KEYS_MAX });
    }
    slots
}

fn slot(node: &Tree, path: &str, reading: &mut Reading) -> Option<StateSlot> {
    let mut fields = reading.fields(node, path)?;
    let schema = match fields.need("schema", reading) {
        Some(node) => schema::schema(reading, node, &fields.below("schema")),
        None => None,
    };
    let reduce = match fields.get("reduce") {
        Some(node) => reducer(node, &fields.below("reduce"), reading),
        None => Some(Reducer::Replace),
    };
    let initial = fields.get("initial");
    let below = fields.below("initial");
    fields.close(reading);
    let (schema, reduce) = (schema?, reduce?);
    if let Some(node) = initial {
        for (inner, why) in schema::misfits(&schema, &node.to_json()) {
            let path = super::fields::below(&below, &inner);
            reading.mistake(node.at, &path, Text::Misfit { why: &why });
        }
    }
    // The reducer must be able to work on values of the schema's type.
    if let Some(kind) = Shape(Some(&schema)).kind() {
        let sample = match kind {
            "array" => Value::Array(Vec::new()),
            "object" => Value::Object(serde_json::Map::new()),
            "number" => Value::from(0),
            "boolean" => Value::Bool(false),
            "string" => Value::from(""),
            _ => Value::Null,
        };
        if apply(reduce, Some(&sample), sample.clone()).is_err() {
            let at = node.field("reduce").map_or(node.at, |field| field.value.at);
            let why = Text::ReducerMisfit { reducer: &reduce.as_str(), got: &kind };
            reading.mistake(at, &format!("{path}.reduce"), why);
        }
    }
    Some(StateSlot { schema, reduce, initial: initial.map(Tree::to_json) })
}

fn reducer(node: &Tree, path: &str, reading: &mut Reading) -> Option<Reducer> {
    let word = reading.text(node, path)?;
    let all = <Reducer as strum::VariantArray>::VARIANTS;
    let found = all.iter().find(|reducer| reducer.as_str() == word).copied();
    if found.is_none() {
        let known: Vec<&str> = all.iter().map(|reducer| reducer.as_str()).collect();
        let listed = known.join(", ");
        match meant(word, &known) {
            Some(meant) => reading.mistake(node.at, path, FileText::NoValueNear { meant: &meant }),
            None => reading.mistake(node.at, path, FileText::NoValueOf { known: &listed }),
        }
    }
    found
}

fn limits(node: &Tree, reading: &mut Reading) -> Limits {
    let mut limits = Limits::default();
    let Some(mut fields) = reading.fields(node, "limits") else { return limits };
    if let Some(node) = fields.get("steps") {
        limits.steps = reading.number(node, "limits.steps", 1, STEPS_MAX).unwrap_or(limits.steps);
    }
    if let Some(node) = fields.get("visits") {
        limits.visits =
            reading.number(node, "limits.visits", 1, VISITS_MAX).unwrap_or(limits.visits);
    }
    if let Some(node) = fields.get("deadline") {
        limits.deadline_ms = duration(reading, node, "limits.deadline");
    }
    fields.close(reading);
    limits
}

/// Reports writes to keys that the state does not have, and collected values of keys that replace.
fn keys_exist(
    nodes: &BTreeMap<NodeId, Node>,
    places: &Places<'_>,
    state: &BTreeMap<Key, StateSlot>,
    reading: &mut Reading,
) {
    let known: Vec<&str> = state.keys().map(Key::as_str).collect();
    let none = BTreeMap::new();
    for (id, node) in nodes {
        let collect = if let Work::Map(map) = &node.work { &map.collect } else { &none };
        for (field, writes) in [("write", &node.write), ("collect", collect)] {
            for (key, value) in writes {
                let path = format!("nodes.{id}.{field}.{key}");
                let inner = places.get(id).and_then(|place| place.field(field));
                let at = inner.and_then(|field| field.value.field(key.as_str()));
                let at = at.map_or(crate::source::tree::Place::START, |field| field.at);
                match state.get(key) {
                    None => reading.mistake(at, &path, no_key(key.as_str(), &known)),
                    Some(slot) if field == "collect" && slot.reduce == Reducer::Replace => {
                        reading.mistake(at, &path, Text::CollectReplaces { key });
                    }
                    Some(slot) => literal(slot, value, at, &path, reading),
                }
            }
        }
    }
}

/// Checks a written value without templates against the schema of its key.
fn literal(
    slot: &StateSlot,
    value: &TemplateValue,
    at: crate::source::tree::Place,
    path: &str,
    reading: &mut Reading,
) {
    let value = value.as_value();
    if super::nodes::has_template(value) {
        return;
    }
    match apply(slot.reduce, slot.initial.as_ref(), value.clone()) {
        Err(error) => reading.mistake(at, path, error.words()),
        Ok(_) if slot.reduce != Reducer::Replace => {}
        Ok(value) => {
            for (_, why) in schema::misfits(&slot.schema, &value) {
                reading.mistake(at, path, Text::Misfit { why: &why });
            }
        }
    }
}

/// Checks every expression and template against the scope of its place.
fn expressions(
    workflow: &Workflow,
    ids: &BTreeSet<String>,
    pending: &[Pending<'_>],
    reading: &mut Reading,
) {
    let engine = Evaluator::new();
    let state: BTreeMap<String, Shape<'_>> = workflow
        .state
        .iter()
        .map(|(key, slot)| (key.to_string(), Shape(Some(&slot.schema))))
        .collect();
    let regions = workflow.regions();
    // A node that is wrong is in no region, and its expressions are checked with the main flow.
    let map_of = |id: &NodeId| {
        let mut at = Some(id);
        while let Some(id) = at {
            let joins = regions.get(id).and_then(|region| region.joins());
            let owner = joins.and_then(|owner| regions.get_key_value(owner)).map(|(id, _)| *id);
            if let Some(owner) = owner
                && let Some(Work::Map(map)) = workflow.nodes.get(owner).map(|node| &node.work)
            {
                return Some(map);
            }
            at = owner;
        }
        None
    };
    for one in pending {
        let node = one.of.as_ref().and_then(|id| workflow.nodes.get(id));
        let own =
            if let Some(Work::Map(map)) = node.map(|node| &node.work) { Some(map) } else { None };
        let body = own.filter(|_| one.seen == Seen::Last);
        let body = body.or_else(|| one.of.as_ref().and_then(map_of));
        let outcome = match (one.seen, node) {
            (Seen::Nothing, _) | (_, None) => None,
            (Seen::Own, Some(node)) => outcome(node),
            (Seen::Last, Some(node)) => last(workflow, node),
        };
        let item = body.map(|map| (map.item.as_str(), Shape(None)));
        let input = Shape(workflow.input.as_ref());
        let names = Names { input, state: &state, nodes: ids, item, outcome };
        one.check(&names, &engine, reading);
    }
}

/// Returns the outcome of a node, with its shape.
fn outcome(node: &Node) -> Option<(Yield, Shape<'_>)> {
    let yields = node.work.kind().yields()?;
    let shape = Shape(node.work.as_model().and_then(|model| model.reply.as_ref()));
    Some((yields, shape))
}

/// Returns the outcome that all last nodes of a map's body have in common.
fn last<'a>(workflow: &'a Workflow, node: &'a Node) -> Option<(Yield, Shape<'a>)> {
    let Work::Map(map) = &node.work else { return None };
    let ends = map.nodes.iter().filter_map(|id| workflow.nodes.get(id));
    let mut ends = ends.filter(|node| node.next.iter().any(|route| route.to.node().is_none()));
    let first = outcome(ends.next()?)?;
    let mut rest = ends.peekable();
    if rest.peek().is_none() {
        return Some(first);
    }
    let is_same = rest.all(|node| outcome(node).is_some_and(|(yields, _)| yields == first.0));
    is_same.then_some((first.0, Shape(None)))
}
