//! The import of graphs of other programs: a converter for each, to the spelling with lists of nodes
//! and edges.
//!
//! A converter carries over the nodes that both programs have. It names every other node with the
//! reason, and then returns no file.

mod dify;
mod draft;
mod langgraph;
mod names;

use proto::{lang::Words, workflow::WorkflowName};
use serde_json::Value;

use crate::workflow::read::{FILE_BYTES_MAX, Known, read};
use draft::{Converted, Text};

pub use draft::{Foreign, ImportError};

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

#[cfg(test)]
mod tests;
