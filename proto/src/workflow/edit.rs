//! The edits of the graph of a running job, and their changes.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{NodeId, Workflow, WorkflowName, WorkflowRun};
use crate::id::ToolName;

/// Maximum number of edits of one request.
pub const EDITS_MAX: usize = 64;

/// An edit of a graph. Nodes, routes and bounds are those of a workflow file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum GraphEdit {
    /// Adds a node.
    AddNode {
        /// Id, which no other node has.
        id: NodeId,
        /// Node, as a workflow file has it.
        node: Value,
    },
    /// Changes fields of a node, as a JSON merge patch (RFC 7396): `null` removes a field.
    UpdateNode {
        /// Id of the node.
        id: NodeId,
        /// Fields to change.
        node: Value,
    },
    /// Removes a node. No route may lead to it any more.
    RemoveNode {
        /// Id of the node.
        id: NodeId,
    },
    /// Replaces the way on of a node.
    UpdateEdge {
        /// Id of the node that the routes leave.
        from: NodeId,
        /// Way on: an id, `end`, or a list of routes; `null` ends the path.
        next: Value,
    },
    /// Changes the bounds, as a JSON merge patch.
    SetLimits {
        /// Bounds to change: `steps` and `visits`.
        limits: Value,
    },
}

/// The changes of an edit of a graph.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct GraphChanges {
    /// Nodes that were added.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub added: BTreeSet<NodeId>,
    /// Nodes that were changed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub changed: BTreeSet<NodeId>,
    /// Nodes that were removed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub removed: BTreeSet<NodeId>,
    /// `true` if the bounds, the state, the output or the head of the file changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// Workflows that nodes run as child jobs, and whose definition or tools changed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub workflows: BTreeSet<WorkflowName>,
    /// Tools of nodes that are registered in another way than when the graph was made, those that
    /// nodes call for the first time, and those that no node calls any more.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tools: BTreeSet<ToolName>,
}

impl GraphChanges {
    /// Compares two workflows with all that a job keeps of them.
    #[must_use]
    pub fn of_run(before: &WorkflowRun, after: &WorkflowRun) -> Self {
        Self {
            workflows: differing(&before.workflows, &after.workflows),
            tools: differing(&before.tools, &after.tools),
            ..Self::between(&before.definition, &after.definition)
        }
    }

    /// Compares two definitions.
    #[must_use]
    pub fn between(before: &Workflow, after: &Workflow) -> Self {
        let ids = |of: &Workflow, other: &Workflow| -> BTreeSet<NodeId> {
            of.nodes.keys().filter(|id| !other.nodes.contains_key(*id)).cloned().collect()
        };
        let changed = after
            .nodes
            .iter()
            .filter(|(id, node)| before.nodes.get(*id).is_some_and(|earlier| earlier != *node));
        let head = |of: &Workflow| Workflow { nodes: Default::default(), ..of.clone() };
        Self {
            added: ids(after, before),
            changed: changed.map(|(id, _)| id.clone()).collect(),
            removed: ids(before, after),
            whole: head(before) != head(after),
            workflows: BTreeSet::new(),
            tools: BTreeSet::new(),
        }
    }

    /// Returns `true` if nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Returns the keys whose values differ, or that one of two maps lacks.
fn differing<K: Ord + Clone, V: PartialEq>(
    before: &BTreeMap<K, V>,
    after: &BTreeMap<K, V>,
) -> BTreeSet<K> {
    let keys = before.keys().chain(after.keys());
    keys.filter(|key| before.get(*key) != after.get(*key)).cloned().collect()
}

/// Writes the changes in one line: `+added ~changed -removed`, `~workflow` for the head of the file,
/// and `~workflow:name` and `~tool:name` for what the nodes run.
impl std::fmt::Display for GraphChanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let marked = [('+', &self.added), ('~', &self.changed), ('-', &self.removed)];
        let nodes =
            marked.iter().flat_map(|(mark, ids)| ids.iter().map(move |id| format!("{mark}{id}")));
        let head = self.whole.then(|| "~workflow".to_owned());
        let workflows = self.workflows.iter().map(|name| format!("~workflow:{name}"));
        let tools = self.tools.iter().map(|name| format!("~tool:{name}"));
        let words: Vec<String> = nodes.chain(head).chain(workflows).chain(tools).collect();
        f.write_str(&words.join(" "))
    }
}
