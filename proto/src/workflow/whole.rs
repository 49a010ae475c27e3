//! A workflow as a whole, with its state and its bounds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{EventName, Key, Node, NodeId, Reducer, TemplateValue, WorkflowName};
use crate::digest;

/// Maximum number of nodes of one workflow.
pub const NODES_MAX: usize = 500;

/// Maximum number of keys of the state.
pub const STATE_KEYS_MAX: usize = 100;

/// Maximum size of a job's state, in bytes of JSON.
pub const STATE_BYTES_MAX: usize = 256 * 1024;

/// Maximum of the node visits that a workflow may allow to one job: a map of
/// [`ITEMS_MAX`](super::ITEMS_MAX) items with one node each, and a few hundred more. Each visit is a
/// row of the graph, which leaves out the oldest ones if it would not fit one reply.
pub const STEPS_MAX: u32 = 1_200;

/// Maximum of the visits that a workflow may allow to one node.
pub const VISITS_MAX: u32 = 1_000;

/// Maximum deadline of a workflow: one year, in milliseconds.
pub const DEADLINE_MS_MAX: u64 = 365 * 24 * 3600 * 1000;

/// A workflow that has passed the checker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workflow {
    /// Name of the workflow.
    #[serde(rename = "workflow")]
    pub name: WorkflowName,
    /// Version, from 1. One version has one body.
    pub version: u32,
    /// Purpose of the workflow, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// JSON Schema of the input, which is an object; any object when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Keys of the state.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub state: BTreeMap<Key, StateSlot>,
    /// Output of a successful end; the whole state when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<TemplateValue>,
    /// Bounds of a job.
    #[serde(default)]
    pub limits: Limits,
    /// First node.
    pub start: NodeId,
    /// Nodes by id; 1 to 500.
    pub nodes: BTreeMap<NodeId, Node>,
}

/// A key of the state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StateSlot {
    /// JSON Schema of the value. The value after each write must fit it.
    pub schema: Value,
    /// Combination of a written value with the present one.
    #[serde(default)]
    pub reduce: Reducer,
    /// Value at the start. Without it, an expression that reads the key before a write fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<Value>,
}

/// The bounds of a job that runs a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Maximum number of visits of all nodes, 1 to [`STEPS_MAX`].
    pub steps: u32,
    /// Maximum number of visits of one node, 1 to [`VISITS_MAX`]. Each item of a map counts its own.
    pub visits: u32,
    /// Deadline of the job, in milliseconds from its start; the job's own when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 200, visits: 10, deadline_ms: None }
    }
}

impl Workflow {
    /// Returns `true` if a node waits for events of this name.
    #[must_use]
    pub fn awaits(&self, name: &EventName) -> bool {
        self.events().any(|event| event == name)
    }

    /// Returns the names of the events that nodes wait for, in the order of the nodes.
    pub fn events(&self) -> impl Iterator<Item = &EventName> {
        self.nodes.values().filter_map(|node| Some(&node.work.as_event()?.event))
    }

    /// Returns the names of the workflows that nodes run as child jobs, in the order of the nodes.
    pub fn sub_workflows(&self) -> impl Iterator<Item = &WorkflowName> {
        self.nodes.values().filter_map(|node| node.work.as_workflow())
    }

    /// Returns the input of a job that has only a goal: `input` with the goal as its field `goal`,
    /// unless it has that field, or the schema of the input has no such property.
    #[must_use]
    pub fn with_goal(&self, mut input: Value, goal: &str) -> Value {
        let takes = match &self.input {
            None => true,
            Some(schema) => schema.pointer("/properties/goal").is_some(),
        };
        if let (true, Value::Object(fields)) = (takes, &mut input) {
            fields.entry("goal").or_insert_with(|| goal.into());
        }
        input
    }

    /// Returns the state at the start: the initial values by key.
    #[must_use]
    pub fn initial_state(&self) -> BTreeMap<Key, Value> {
        let initial = |(key, slot): (&Key, &StateSlot)| Some((key.clone(), slot.initial.clone()?));
        self.state.iter().filter_map(initial).collect()
    }

    /// Returns the SHA-256 of the workflow in lower-case hex. Equal workflows have equal digests,
    /// whatever the spelling and the order of fields in their files.
    ///
    /// # Panics
    /// Never panics: every part of a workflow has a form in JSON.
    #[must_use]
    pub fn digest(&self) -> String {
        let value =
            serde_json::to_value(self).expect("every part of a workflow has a form in JSON");
        digest::of_json(&value)
    }
}
