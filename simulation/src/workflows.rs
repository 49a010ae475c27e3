//! The jobs of a world that run workflows drawn by chance. Most worlds have none. They are drawn from
//! a sequence of their own, so that other worlds are unaffected.

use std::time::Duration;

use agents::workflow::testing::drawn_file;
use proto::{
    fact::Signal,
    workflow::{EventName, GraphEdit, NodeId},
};
use serde_json::{Map, Value, json};

use crate::{
    chance::Chance,
    operator_actions::{Deed, What},
    workload::Workload,
};

/// The percentage of worlds with workflows.
const WORKFLOW_PERCENT: u64 = 18;
/// The maximum number of jobs of a world that run workflows.
const JOBS_MAX: usize = 2;
/// The maximum number of choices of which a workflow is drawn.
const CHOICES_MAX: u64 = 40;
/// The maximum number of nodes of a workflow to which people report events.
const EVENT_NODES_MAX: usize = 4;
/// The maximum number of events that people report to one node.
const EVENTS_MAX: u64 = 3;
/// The percentage of workflows whose graph people change while it runs.
const EDITED_PERCENT: u64 = 40;
/// The maximum number of times that people change one graph.
const EDITS_MAX: u64 = 3;
/// The tools of the workflows. Repeated names are drawn more often.
const TOOLS: &[&str] = &["put", "put", "note", "pay", "wire", "flaky", "doomed"];

/// Lets some jobs of a seed's world run workflows.
pub(crate) fn add(seed: u64, workloads: &mut [Workload]) {
    let chance = Chance::new(seed, "workflows");
    if chance.percent(WORKFLOW_PERCENT) {
        for workload in workloads.iter_mut().take(JOBS_MAX) {
            run_one(&chance, workload);
        }
    }
}

fn run_one(chance: &Chance, workload: &mut Workload) {
    let choices: Vec<u32> = (0..chance.number(0..=CHOICES_MAX))
        .map(|_| u32::try_from(chance.number(0..=u64::from(u32::MAX))).unwrap_or_default())
        .collect();
    let mut file = drawn_file(&choices);
    if let Some(nodes) = file["nodes"].as_object_mut() {
        nodes.iter_mut().for_each(|(id, node)| fit(chance, id, node));
    }
    workload.signals.extend(events(chance, &file));
    if chance.percent(EDITED_PERCENT) {
        for _ in 0..chance.number(1..=EDITS_MAX) {
            let what = What::EditGraph(edits(chance, &file));
            workload.deeds.push(Deed { after: chance.millis(0..=15_000), below: false, what });
        }
    }
    workload.body["workflow"] = json!({ "source": file.to_string(), "input": {} });
    workload.body["goal"] = json!("errand: workflow");
    if chance.percent(60) {
        // Without limits of an agent, more workflows come to their own end.
        workload.body["agent"] = json!("default");
    }
    // A conversation orders its jobs, and has a test of its own.
    if let Some(body) = workload.body.as_object_mut() {
        body.remove("conversation");
    }
}

/// Draws edits of a graph: a node between two others, an end in place of the rest of a path, a node of
/// another type, or a node that is gone.
fn edits(chance: &Chance, file: &Value) -> Vec<GraphEdit> {
    let nodes = file["nodes"].as_object().into_iter().flatten();
    let simple: Vec<(&String, &Value)> =
        nodes.filter(|(_, node)| node["next"].is_string()).collect();
    let id = |text: &str| NodeId::new(text).expect("the id of a drawn node, or a plain word");
    let limits = json!({ "visits": chance.number(1..=20) });
    let Some((from, node)) = (!simple.is_empty()).then(|| *chance.pick(&simple)) else {
        return vec![GraphEdit::SetLimits { limits }];
    };
    let next = &node["next"];
    match chance.number(0..=5) {
        0 => vec![GraphEdit::UpdateEdge { from: id(from), next: json!("end") }],
        1 => {
            // The routes to a node that is gone lead past it.
            let nodes = file["nodes"].as_object().into_iter().flatten();
            let before = nodes.filter(|(_, node)| node["next"] == json!(from));
            let past = before
                .map(|(before, _)| GraphEdit::UpdateEdge { from: id(before), next: next.clone() });
            past.chain([GraphEdit::RemoveNode { id: id(from) }]).collect()
        }
        2 | 3 => {
            let fields = node.as_object().into_iter().flatten().map(|(field, _)| field.clone());
            let mut node: Map<String, Value> = fields.map(|field| (field, Value::Null)).collect();
            node.insert("next".to_owned(), next.clone());
            match chance.percent(50) {
                true => {
                    node.insert("type".to_owned(), json!("set"));
                    node.insert("write".to_owned(), json!({ "count": 1 }));
                }
                false => {
                    node.insert("type".to_owned(), json!("tool"));
                    node.insert("tool".to_owned(), json!(chance.pick(TOOLS)));
                    node.insert("args".to_owned(), json!({ "text": "edited" }));
                }
            }
            vec![GraphEdit::UpdateNode { id: id(from), node: Value::Object(node) }]
        }
        _ => {
            let node = json!({ "type": "set", "write": { "count": 1 }, "next": next });
            let name = format!("added{}", chance.number(0..=99));
            let (added, next) = (id(&name), json!(name));
            vec![
                GraphEdit::AddNode { id: added, node },
                GraphEdit::UpdateEdge { from: id(from), next },
                GraphEdit::SetLimits { limits },
            ]
        }
    }
}

/// Draws the events that people report to a workflow. Some fit no visit, and some lack what the
/// condition on them reads.
fn events(chance: &Chance, file: &Value) -> Vec<(Duration, Signal)> {
    let nodes = file["nodes"].as_object().into_iter().flatten();
    let waits = nodes.filter(|(_, node)| node["type"] == "event");
    let mut events = Vec::new();
    for id in waits.map(|(id, _)| id).take(EVENT_NODES_MAX) {
        for _ in 0..chance.number(0..=EVENTS_MAX) {
            let mut data = json!({ "visit": chance.number(1..=2), "item": chance.number(0..=2) });
            if chance.percent(5) {
                data = json!({});
            }
            let name = EventName::new(id).expect("an id of a node is the name of an event");
            events.push((chance.millis(0..=20_000), Signal::Event { name, data }));
        }
    }
    events
}

/// Gives a node a tool of the simulation, or a prompt of its model's script.
fn fit(chance: &Chance, id: &str, node: &mut Value) {
    match node["type"].as_str() {
        Some("tool") => {
            node["tool"] = json!(chance.pick(TOOLS));
            node["args"] = json!({ "text": id });
        }
        Some("model") if node.get("reply").is_some() => {
            let way = *chance.pick(&["yes", "no", "once"]);
            node["prompt"] = json!(format!("errand: circle {way} {{{{ visits['{id}'] }}}}"));
        }
        Some("model") => node["prompt"] = json!("errand: a word"),
        // A world rests within half an hour, so a deadline is shorter.
        Some("human") => {
            let seconds = chance.number(5..=120);
            node["deadline"]["after"] = json!(format!("{seconds}s"));
        }
        Some("event") => {
            let seconds = chance.number(5..=120);
            node["timeout"]["after"] = json!(format!("{seconds}s"));
        }
        Some(_) | None => {}
    }
}
