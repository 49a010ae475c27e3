//! The edges of a workflow: every way that a path can take, in a fixed order.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{Expression, InvalidName, NodeId, Paths, Region, Target, Workflow};

/// Prefix of the join of a parallel or map node. No id of a node has a colon.
const JOIN: &str = "join:";

/// The end of an edge. Its text is the id of the node, `join:<node>` for the join of a parallel or
/// map node, or `end`.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Place {
    /// A node.
    Node(NodeId),
    /// The join of a parallel or map node, which its routes leave.
    Join(NodeId),
    /// The end of the workflow.
    End,
}

impl Place {
    /// Returns the place of a target. Inside of a region, the end of a path is the join.
    #[must_use]
    pub fn of(target: &Target, region: &Region) -> Self {
        match (target, region.joins()) {
            (Target::Node(id), _) => Self::Node(id.clone()),
            (Target::End, Some(joins)) => Self::Join(joins.clone()),
            (Target::End, None) => Self::End,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(id) => id.fmt(f),
            Self::Join(id) => write!(f, "{JOIN}{id}"),
            Self::End => f.write_str("end"),
        }
    }
}

impl FromStr for Place {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        match text.strip_prefix(JOIN) {
            Some(node) => NodeId::new(node).map(Self::Join),
            None if text == "end" => Ok(Self::End),
            None => NodeId::new(text).map(Self::Node),
        }
    }
}

impl From<Place> for String {
    fn from(place: Place) -> Self {
        place.to_string()
    }
}

impl TryFrom<String> for Place {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, InvalidName> {
        text.parse()
    }
}

/// The kinds of edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    /// A route, after work that succeeded.
    Next,
    /// The way on after an error.
    Error,
    /// The way on when the time of a wait is up.
    Timeout,
    /// The beginning of a branch.
    Branch,
    /// The beginning of the body of a map.
    Item,
}

/// A way that a path can take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Edge {
    /// Beginning of the edge.
    pub from: Place,
    /// End of the edge.
    pub to: Place,
    /// Kind of the edge.
    pub kind: EdgeKind,
    /// Condition of a route; absent for the last route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Expression>,
    /// Name of a branch, or name and list of the items of a map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Length of the wait before a timeout, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<u64>,
}

impl Edge {
    fn new(from: &Place, to: Place, kind: EdgeKind) -> Self {
        Self { from: from.clone(), to, kind, when: None, name: None, after_ms: None }
    }
}

impl Workflow {
    /// Returns the edges, by the order of the nodes: of each node its branches or its body, its
    /// routes in their order, its timeout and its error.
    #[must_use]
    pub fn edges(&self) -> Vec<Edge> {
        let regions = self.regions();
        let mut edges = Vec::new();
        for (id, node) in &self.nodes {
            let own = Place::Node(id.clone());
            let start = |node: &NodeId| Place::Node(node.clone());
            let leaves = match node.work.paths() {
                Some(Paths::Branches(parallel)) => {
                    edges.extend(parallel.branches.iter().map(|branch| Edge {
                        name: Some(branch.name.to_string()),
                        ..Edge::new(&own, start(&branch.start), EdgeKind::Branch)
                    }));
                    Place::Join(id.clone())
                }
                Some(Paths::Items(map)) => {
                    edges.push(Edge {
                        name: Some(format!("{} of {}", map.item, map.over)),
                        ..Edge::new(&own, start(&map.start), EdgeKind::Item)
                    });
                    Place::Join(id.clone())
                }
                None => own,
            };
            let region = regions.get(id).unwrap_or(&Region::Main);
            let to = |target: &Target| Place::of(target, region);
            edges.extend(node.next.iter().map(|route| Edge {
                when: route.when.clone(),
                ..Edge::new(&leaves, to(&route.to), EdgeKind::Next)
            }));
            if let Some(timeout) = node.work.timeout() {
                edges.push(Edge {
                    after_ms: Some(timeout.after_ms),
                    ..Edge::new(&leaves, to(&timeout.then), EdgeKind::Timeout)
                });
            }
            if let Some(target) = &node.on_error {
                edges.push(Edge::new(&leaves, to(target), EdgeKind::Error));
            }
        }
        edges
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_place_has_one_text() {
        for text in ["end", "join:fan-out", "start", "join"] {
            assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
        }
        assert!("join:".parse::<Place>().is_err() && "join:end".parse::<Place>().is_err());
    }

    #[test]
    fn the_edges_have_every_way_and_its_condition() {
        let workflow: Workflow = serde_json::from_value(json!({
            "workflow": "w", "version": 1, "start": "fan",
            "nodes": {
                "a": {"work": {"type": "model", "prompt": "x"}, "next": [{"to": "end"}]},
                "ask": {
                    "work": {
                        "type": "human", "ask": "x",
                        "deadline": {"after_ms": 2000, "then": "fan"},
                    },
                    "next": [{"when": "answer.text == 'no'", "to": "fan"}, {"to": "end"}],
                    "on_error": "end",
                },
                "fan": {
                    "work": {
                        "type": "parallel", "join": "all",
                        "branches": [{"name": "one", "start": "a", "nodes": ["a"]}],
                    },
                    "next": [{"to": "ask"}],
                },
            },
        }))
        .unwrap();
        let written: Vec<String> = workflow
            .edges()
            .iter()
            .map(|edge| {
                let edge = serde_json::to_value(edge).unwrap();
                let more = ["when", "name", "after_ms"].map(|key| edge[key].to_string());
                let more: Vec<_> = more.into_iter().filter(|text| text != "null").collect();
                let text = |key: &str| edge[key].as_str().unwrap().to_owned();
                let ways = format!("{} {} {}", text("from"), text("kind"), text("to"));
                format!("{ways} {}", more.join(" ")).trim().to_owned()
            })
            .collect();
        assert_eq!(
            written,
            [
                "a next join:fan",
                "ask next fan \"answer.text == 'no'\"",
                "ask next end",
                "ask timeout fan 2000",
                "ask error end",
                "fan branch a \"one\"",
                "join:fan next ask",
            ]
        );
    }
}
