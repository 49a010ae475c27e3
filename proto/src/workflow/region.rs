//! The regions of a workflow: the main flow, the branches and the bodies of maps.

use std::collections::BTreeMap;

use super::{NodeId, Paths, Workflow};

/// The part of a workflow that a node belongs to. A token never leaves its region.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Region {
    /// The flow from `start`.
    Main,
    /// A branch of a parallel node.
    Branch {
        /// Parallel node.
        parallel: NodeId,
        /// Number of the branch, from 0.
        branch: usize,
    },
    /// The body of a map node.
    Item {
        /// Map node.
        map: NodeId,
    },
}

impl Region {
    /// Returns the parallel or map node at which the region joins, or `None` for the main flow.
    #[must_use]
    pub fn joins(&self) -> Option<&NodeId> {
        match self {
            Self::Main => None,
            Self::Branch { parallel: node, .. } | Self::Item { map: node } => Some(node),
        }
    }
}

impl Workflow {
    /// Returns the region of every node. A node that no branch and no body has is of the main flow.
    #[must_use]
    pub fn regions(&self) -> BTreeMap<&NodeId, Region> {
        let mut regions: BTreeMap<&NodeId, Region> =
            self.nodes.keys().map(|id| (id, Region::Main)).collect();
        for (id, node) in &self.nodes {
            match node.work.paths() {
                Some(Paths::Branches(parallel)) => {
                    for (branch, paths) in parallel.branches.iter().enumerate() {
                        let region = Region::Branch { parallel: id.clone(), branch };
                        regions.extend(paths.nodes.iter().map(|node| (node, region.clone())));
                    }
                }
                Some(Paths::Items(map)) => {
                    let region = Region::Item { map: id.clone() };
                    regions.extend(map.nodes.iter().map(|node| (node, region.clone())));
                }
                None => {}
            }
        }
        regions
    }
}
