//! The progress of a job through its workflow: a small part of every view of the job, and the whole
//! graph with its visits, on request.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Edge, Expression, Key, Limits, NodeId, Path, Place, ShapeNode, Visit, WorkKind, Workflow,
    WorkflowName,
};
use crate::{
    id::{JobId, Seq},
    spent::Spent,
    step::StepState,
};

/// Maximum size of one shown input, output or value of the state, in bytes of JSON. A larger one is
/// replaced by its size; the log has the whole.
pub const SHOWN_BYTES_MAX: usize = 8 * 1024;

/// The progress of a job through its workflow, as every view of the job has it. Nodes that no path
/// has entered are left out, so its size follows the visits and not the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WorkflowView {
    /// Name of the workflow.
    pub name: WorkflowName,
    /// Version of the workflow.
    pub version: u32,
    /// SHA-256 of the definition, in hex.
    pub digest: String,
    /// Number of changes of the graph: edits that came into force, and rollbacks that undid some.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub revision: u32,
    /// Bounds of the job.
    pub limits: Limits,
    /// Number of visits of all nodes.
    pub visits: u32,
    /// Visits that have begun and not ended, in the order of their beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub current: Vec<Visit>,
    /// Nodes that paths have entered, in the order of their first visits; at most
    /// [`NODES_MAX`](super::NODES_MAX).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeView>,
}

/// A node that paths have entered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NodeView {
    /// Id of the node.
    pub id: NodeId,
    /// Type of the node.
    #[serde(rename = "type")]
    pub kind: WorkKind,
    /// State of the newest visit; that of an open one, if there is any.
    pub state: StepState,
    /// Number of visits.
    pub visits: u32,
    /// Number of visits that failed.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub failed: u32,
}

/// The graph of a job's workflow at one position of its log: definition, states and visits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WorkflowGraph {
    /// Id of the job.
    pub job: JobId,
    /// Position of the last record that the graph includes.
    pub seq: Seq,
    /// SHA-256 of the definition, in hex.
    pub digest: String,
    /// Number of changes of the graph: edits that came into force, and rollbacks that undid some.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub revision: u32,
    /// Definition: that of the submission, with the edits since.
    pub definition: Workflow,
    /// Input of the job; values over [`SHOWN_BYTES_MAX`] are replaced by their size.
    pub input: Value,
    /// Values of the state, by key; those over [`SHOWN_BYTES_MAX`] are replaced by their size.
    pub state: Value,
    /// Every node, by id.
    pub nodes: Vec<GraphNode>,
    /// Every edge, in the order of [`Workflow::edges`].
    pub edges: Vec<GraphEdge>,
    /// Visits that have begun and not ended, in the order of their beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub current: Vec<Visit>,
    /// Visits, in the order of their beginning; at most [`STEPS_MAX`](super::STEPS_MAX).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub visits: Vec<VisitView>,
    /// Number of the oldest visits that `visits` lacks, because the graph would not fit one reply.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub visits_left_out: u32,
    /// Definition as files, on request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Box<WorkflowFiles>>,
}

/// The definition of a job's workflow as files that a migration takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WorkflowFiles {
    /// File of the workflow, in YAML. Comments and the order of the submitted file are not kept.
    pub source: String,
    /// Files of the workflows that nodes run as child jobs, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workflows: BTreeMap<WorkflowName, String>,
}

/// A node of the graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GraphNode {
    /// Node of the definition.
    #[serde(flatten)]
    pub shape: ShapeNode,
    /// State of the newest visit; that of an open one, if there is any; `pending` without a visit.
    pub state: StepState,
    /// Number of visits.
    pub visits: u32,
    /// Number of visits that failed.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub failed: u32,
    /// Cost of the visits. The cost of child jobs is theirs.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub spent: Spent,
}

/// An edge of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GraphEdge {
    /// Edge.
    #[serde(flatten)]
    pub edge: Edge,
    /// Number of times that a path took it.
    pub taken: u32,
}

/// A visit of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct VisitView {
    /// Visit, which is also the id of its step, if it has one.
    pub visit: Visit,
    /// Path of the visit.
    pub path: Path,
    /// State of the visit.
    pub state: StepState,
    /// Evaluated values that the node was entered with: `prompt`, `args`, `task`, `ask` or `until`;
    /// null for a node without work outside of the workflow. Values over [`SHOWN_BYTES_MAX`] are
    /// replaced by their size.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub input: Value,
    /// Outcome of the work; null before the end and without an outcome. A value over
    /// [`SHOWN_BYTES_MAX`] is replaced by its size.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub output: Value,
    /// Error that ended the visit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Keys of the state that the visit wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<Key>,
    /// Place that the path went to; absent before it left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Place>,
    /// Condition that was true; absent for a way without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Expression>,
    /// Attempts at the work.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub attempts: u32,
    /// Model turns.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub turns: u32,
    /// Cost of the visit. The cost of a child job is its own.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub spent: Spent,
    /// Server time of the entry.
    pub entered: Timestamp,
    /// Server time of the end; absent before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
}

/// Returns a value for screens: the value, or its size if that exceeds a number of bytes of JSON.
#[must_use]
pub fn shown(value: &Value, bytes_max: usize) -> Value {
    let bytes = value.to_string().len();
    if bytes <= bytes_max {
        value.clone()
    } else {
        serde_json::json!({"left_out": {"bytes": bytes}})
    }
}
