//! The drawings of a workflow: Graphviz DOT, Mermaid and SVG, with the states of a job's nodes and
//! the edges that its paths took when they are given. Pure functions.

mod dot;
mod drawing;
mod layers;
mod marks;
mod mermaid;
mod svg;

use proto::workflow::Workflow;

pub use self::marks::{Mark, Marks};

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
