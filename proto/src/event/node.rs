//! The events of a workflow's nodes.

use serde::{Deserialize, Serialize};

use crate::{
    step::StepState,
    workflow::{EdgeKind, Expression, NodeId, Place, Visit, WorkKind},
};

/// The entry of a path into a node, the end of the visit, or the way that the path took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NodeEvent {
    /// Node.
    pub node: NodeId,
    /// Visit of the node, which is also the id of its step, if it has one.
    pub visit: Visit,
    /// Text for screens: the title of the node, or its id.
    pub label: String,
    /// Entry, end or way.
    #[serde(flatten)]
    pub phase: NodePhase,
}

/// The phases of a visit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum NodePhase {
    /// A path entered the node.
    Entered {
        /// Type of the node.
        kind: WorkKind,
    },
    /// The visit ended.
    Ended {
        /// `completed`, `failed`, `skipped` if a join cancelled the path, or `canceled` if the
        /// workflow ended first.
        state: StepState,
        /// Error that ended the visit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The path left the node.
    Routed {
        /// Place that the path went to.
        to: Place,
        /// Kind of the way.
        way: EdgeKind,
        /// Condition that was true; absent for a way without one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when: Option<Expression>,
    },
}
