//! The parts that all nodes of Dify have.

use serde_json::Value;

use super::super::draft::text_of;

/// Returns the type of a node.
pub(super) fn kind(node: &Value) -> &str {
    text_of(&node["data"], "type")
}

/// Returns the title of a node, or else its id.
pub(super) fn title(node: &Value) -> &str {
    let title = text_of(&node["data"], "title");
    if title.is_empty() { text_of(node, "id") } else { title }
}
