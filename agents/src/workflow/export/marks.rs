//! The marks of nodes: their states in a job.

use std::collections::BTreeMap;

use proto::workflow::NodeId;

/// The state of a node in a job, as a drawing shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mark {
    /// Word for the state, such as `running`.
    pub state: String,
    /// Number of visits.
    pub visits: u32,
    /// Cost with its unit; empty when it is unknown.
    pub cost: String,
}

/// The marks of a drawing, by node. Nodes without a mark are drawn as in the file.
pub type Marks = BTreeMap<NodeId, Mark>;
