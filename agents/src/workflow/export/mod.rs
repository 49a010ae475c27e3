//! The drawings of a workflow: Graphviz DOT, Mermaid and SVG, with the states of a job's nodes when
//! they are given. Pure functions.

mod dot;
mod drawing;
mod mermaid;
mod svg;

use std::collections::BTreeMap;

use proto::workflow::{NodeId, Workflow};

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

/// The formats of drawings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Format {
    /// The language of Graphviz.
    Dot,
    /// The language of Mermaid.
    Mermaid,
    /// An image.
    Svg,
}

/// Draws a workflow.
#[must_use]
pub fn draw(workflow: &Workflow, marks: &Marks, format: Format) -> String {
    let drawing = drawing::Drawing::of(workflow, marks);
    match format {
        Format::Dot => dot::write(workflow.name.as_str(), &drawing),
        Format::Mermaid => mermaid::write(&drawing),
        Format::Svg => svg::write(&drawing),
    }
}

#[cfg(test)]
mod tests;
