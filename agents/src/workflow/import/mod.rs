//! The import of graphs of other programs: a converter for each, to the spelling with lists of nodes
//! and edges.
//!
//! A converter carries over the nodes that both programs have. It names every other node with the
//! reason, and then returns no file.

mod condition;
mod dify;
mod langgraph;
mod names;

use proto::{lang::Words, workflow::WorkflowName};
use serde_json::{Map, Value, json};

use crate::source::Mistakes;
use crate::workflow::read::{FILE_BYTES_MAX, Known, read};

messages::texts!(workflow_import);

impl From<Text<'_>> for Words {
    fn from(text: Text<'_>) -> Self {
        Self::new(|language| text.text(language))
    }
}

/// The programs whose graphs can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// LangGraph: the JSON of `graph.get_graph().to_json()`.
    LangGraph,
    /// Dify: the YAML of a workflow's DSL file.
    Dify,
}

/// An imported workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// Text of a valid workflow file.
    pub text: String,
    /// Parts that a person must complete, in the order of the nodes.
    pub notes: Vec<Words>,
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

impl Origin {
    /// Finds out which program wrote a file.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let whole = parsed(text).ok()?;
        let is_list = |value: &Value| value.is_array();
        match (&whole["workflow"]["graph"]["nodes"], &whole["nodes"]) {
            (nodes, _) if is_list(nodes) => Some(Self::Dify),
            (_, nodes) if is_list(nodes) => Some(Self::LangGraph),
            (_, _) => None,
        }
    }
}

/// Converts a graph to a workflow file. `name` is used when the graph has no usable name of its own.
///
/// # Errors
/// Fails for a file that is no graph, for nodes without a counterpart, and when the result breaks a
/// rule of workflows.
pub fn import(text: &str, origin: Origin, name: &WorkflowName) -> Result<Imported, ImportError> {
    let whole =
        parsed(text).map_err(|why| ImportError::Unread(Text::Unread { why: &why }.into()))?;
    let converted = match origin {
        Origin::LangGraph => langgraph::converted(&whole, name),
        Origin::Dify => dify::converted(&whole, name),
    };
    let Converted { file, notes } = converted?;
    let unwritable = |error: serde_saphyr::ser::Error| {
        ImportError::Unread(Text::Unread { why: &error.to_string() }.into())
    };
    let text = serde_saphyr::to_string(&file).map_err(unwritable)?;
    read(name.as_str(), &text, &Known::default()).map_err(ImportError::Invalid)?;
    Ok(Imported { text, notes })
}

fn parsed(text: &str) -> Result<Value, String> {
    if text.len() > 4 * FILE_BYTES_MAX {
        return Err(format!("{} > {}", text.len(), 4 * FILE_BYTES_MAX));
    }
    // JSON is YAML.
    serde_saphyr::from_str(text).map_err(|error| error.without_snippet().to_string())
}

/// A converted file.
struct Converted {
    file: Value,
    notes: Vec<Words>,
}

/// The nodes and edges that a converter collects.
#[derive(Default)]
struct Draft {
    nodes: Vec<Value>,
    edges: Vec<Value>,
    state: Map<String, Value>,
    foreign: Vec<Foreign>,
    notes: Vec<Words>,
}

impl Draft {
    fn node(&mut self, id: &str, kind: &str, config: &Value) {
        self.nodes.push(json!({"id": id, "type": kind, "config": config}));
    }

    fn edge(&mut self, from: &str, to: &str, condition: Option<String>) {
        let mut edge = json!({"source": from, "target": to});
        if let Some(condition) = condition {
            edge["condition"] = json!(condition);
        }
        self.edges.push(edge);
    }

    fn refuse(&mut self, node: &str, kind: &str, why: impl Into<Words>) {
        let (node, kind, why) = (node.to_owned(), kind.to_owned(), why.into());
        self.foreign.push(Foreign { node, kind, why });
    }

    /// Returns the file, or the nodes without a counterpart.
    fn finish(self, mut head: Value) -> Result<Converted, ImportError> {
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
fn text_of<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests;
