//! The targets of routes.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{InvalidName, NodeId};

/// The target of a route: a node, or `end`.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Target {
    /// A node of the same region.
    Node(NodeId),
    /// The end of the path: of the branch or the item inside a parallel part, which has then
    /// arrived at its join, and of the workflow outside.
    End,
}

impl Target {
    /// Returns the node of the target, or `None` for the end.
    #[must_use]
    pub fn node(&self) -> Option<&NodeId> {
        match self {
            Self::Node(id) => Some(id),
            Self::End => None,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(id) => id.fmt(f),
            Self::End => f.write_str("end"),
        }
    }
}

impl From<Target> for String {
    fn from(target: Target) -> Self {
        target.to_string()
    }
}

impl TryFrom<String> for Target {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, InvalidName> {
        if text == "end" { Ok(Self::End) } else { NodeId::new(text).map(Self::Node) }
    }
}
