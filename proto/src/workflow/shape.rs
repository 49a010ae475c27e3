//! The shape of a workflow: its nodes and edges as a screen draws them, without a job.

use serde::{Deserialize, Serialize};

use super::{Edge, Join, NodeId, Work, WorkKind, Workflow};

/// The nodes and edges of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WorkflowShape {
    /// First node.
    pub start: NodeId,
    /// Every node, by id; at most [`NODES_MAX`](super::NODES_MAX).
    pub nodes: Vec<ShapeNode>,
    /// Every edge, in the order of [`Workflow::edges`].
    pub edges: Vec<Edge>,
}

/// A node of a shape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ShapeNode {
    /// Id of the node.
    pub id: NodeId,
    /// Text for screens: the title, or the id.
    pub label: String,
    /// Type of the node.
    #[serde(rename = "type")]
    pub kind: WorkKind,
    /// Tool, agent, workflow or event that the node names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<String>,
    /// Number of paths that the join of a parallel or map node needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<Join>,
}

impl Workflow {
    /// Returns the nodes and edges as screens draw them.
    #[must_use]
    pub fn shape(&self) -> WorkflowShape {
        let nodes = self.nodes.iter().map(|(id, node)| ShapeNode {
            id: id.clone(),
            label: node.title.clone().unwrap_or_else(|| id.to_string()),
            kind: node.work.kind(),
            names: node.work.names().map(str::to_owned),
            join: join(&node.work),
        });
        WorkflowShape { start: self.start.clone(), nodes: nodes.collect(), edges: self.edges() }
    }
}

fn join(work: &Work) -> Option<Join> {
    match work {
        Work::Parallel(parallel) => Some(parallel.join),
        Work::Map(map) => Some(map.join),
        Work::Model(_)
        | Work::Tool(_)
        | Work::Agent(_)
        | Work::Human(_)
        | Work::Branch {}
        | Work::Wait(_)
        | Work::Event(_)
        | Work::Set {}
        | Work::End(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_shape_has_what_a_screen_draws() {
        let workflow: Workflow = serde_json::from_value(json!({
            "workflow": "w", "version": 1, "start": "fan",
            "nodes": {
                "fan": {
                    "work": {
                        "type": "parallel", "join": {"at_least": 1},
                        "branches": [{"name": "one", "start": "say", "nodes": ["say"]}],
                    },
                    "title": "Everybody",
                },
                "say": {"work": {"type": "tool", "tool": "echo", "args": {}}},
            },
        }))
        .unwrap();
        let shape = serde_json::to_value(workflow.shape()).unwrap();
        assert_eq!(
            shape,
            json!({
                "start": "fan",
                "nodes": [
                    {"id": "fan", "label": "Everybody", "type": "parallel", "join": {"at_least": 1}},
                    {"id": "say", "label": "say", "type": "tool", "names": "echo"},
                ],
                "edges": [{"from": "fan", "to": "say", "kind": "branch", "name": "one"}],
            })
        );
    }
}
