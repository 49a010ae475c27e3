//! The file that a converter drafts, and its refusals.

use proto::lang::Words;
use serde_json::{Map, Value, json};

use crate::source::Mistakes;

messages::texts!(workflow_import);

impl From<Text<'_>> for Words {
    fn from(text: Text<'_>) -> Self {
        Self::new(|language| text.text(language))
    }
}

/// A node that has no counterpart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreign {
    /// Node as the other program's screens name it.
    pub node: String,
    /// Type of the node in the other program.
    pub kind: String,
    /// Reason.
    pub why: Words,
}

/// The failure of an import.
#[derive(Debug, Clone, PartialEq)]
pub enum ImportError {
    /// The file is not of the program, or has no graph.
    Unread(Words),
    /// Nodes have no counterpart; never an empty list.
    Foreign(Vec<Foreign>),
    /// The converted workflow breaks a rule, as `workflow check` says.
    Invalid(Mistakes),
}

/// A converted file.
pub(super) struct Converted {
    pub(super) file: Value,
    pub(super) notes: Vec<Words>,
}

/// The nodes and edges that a converter collects.
#[derive(Default)]
pub(super) struct Draft {
    nodes: Vec<Value>,
    edges: Vec<Value>,
    pub(super) state: Map<String, Value>,
    foreign: Vec<Foreign>,
    pub(super) notes: Vec<Words>,
}

impl Draft {
    pub(super) fn node(&mut self, id: &str, kind: &str, config: &Value) {
        self.nodes.push(json!({"id": id, "type": kind, "config": config}));
    }

    pub(super) fn edge(&mut self, from: &str, to: &str, condition: Option<String>) {
        let mut edge = json!({"source": from, "target": to});
        if let Some(condition) = condition {
            edge["condition"] = json!(condition);
        }
        self.edges.push(edge);
    }

    /// Gives a node the target that follows a failure.
    pub(super) fn on_error(&mut self, node: &str, to: &str) {
        if let Some(node) = self.nodes.iter_mut().find(|it| it["id"] == node) {
            node["on_error"] = json!(to);
        }
    }

    pub(super) fn refuse(&mut self, node: &str, kind: &str, why: impl Into<Words>) {
        let (node, kind, why) = (node.to_owned(), kind.to_owned(), why.into());
        self.foreign.push(Foreign { node, kind, why });
    }

    /// Returns the file, or the nodes without a counterpart.
    pub(super) fn finish(self, mut head: Value) -> Result<Converted, ImportError> {
        if !self.foreign.is_empty() {
            return Err(ImportError::Foreign(self.foreign));
        }
        if !self.state.is_empty() {
            head["state"] = Value::Object(self.state);
        }
        head["nodes"] = Value::Array(self.nodes);
        head["edges"] = Value::Array(self.edges);
        Ok(Converted { file: head, notes: self.notes })
    }
}

/// Returns the text of a field, or nothing.
pub(super) fn text_of<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}
