//! Nodes of an accessibility tree, read from the protocol's JSON. Unknown fields and roles are no
//! error: releases of Chromium add some.

use std::collections::BTreeMap;

use serde_json::Value;

/// A frame of a page with its tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct Frame {
    /// Its nodes by id.
    pub(crate) nodes: BTreeMap<String, Node>,
    /// The id of the root.
    pub(crate) root: String,
    /// The number of its process, in which numbers of nodes are unique.
    pub(crate) process: usize,
    /// The element that contains the frame; `None` for the page itself.
    pub(crate) owner: Option<NodeId>,
}

/// A node of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeId {
    /// The number of its process.
    pub(crate) process: usize,
    /// Chromium's number of the node.
    pub(crate) node: i64,
}

/// A node of a tree.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Node {
    pub(crate) role: String,
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) is_ignored: bool,
    pub(crate) backend: Option<i64>,
    pub(crate) properties: BTreeMap<String, Value>,
    pub(crate) children: Vec<String>,
}

impl Node {
    /// Returns whether a property is the truth value `true`.
    pub(crate) fn is(&self, property: &str) -> bool {
        self.properties.get(property) == Some(&Value::Bool(true))
    }

    /// Returns the text of a property; empty if the node does not have it.
    pub(crate) fn text_of(&self, property: &str) -> String {
        self.properties.get(property).map(plain).unwrap_or_default()
    }
}

/// Reads the nodes of `Accessibility.getFullAXTree`.
pub(crate) fn read(reply: &Value, process: usize, owner: Option<NodeId>) -> Frame {
    let mut frame = Frame { process, owner, ..Frame::default() };
    for node in reply["nodes"].as_array().into_iter().flatten() {
        let id = plain(&node["nodeId"]);
        // The root is the one node without a parent, and comes first.
        if frame.root.is_empty() {
            frame.root.clone_from(&id);
        }
        frame.nodes.insert(id, one(node));
    }
    frame
}

/// Reads one node.
pub(crate) fn one(node: &Value) -> Node {
    let properties = node["properties"].as_array().into_iter().flatten();
    let properties = properties.filter_map(|property| {
        Some((property["name"].as_str()?.to_owned(), property["value"]["value"].clone()))
    });
    Node {
        role: plain(&node["role"]["value"]),
        name: plain(&node["name"]["value"]),
        value: plain(&node["value"]["value"]),
        is_ignored: node["ignored"] == Value::Bool(true),
        backend: node["backendDOMNodeId"].as_i64(),
        properties: properties.collect(),
        children: node["childIds"].as_array().into_iter().flatten().map(plain).collect(),
    }
}

/// Returns a JSON value as plain text.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
