//! Drawings as images, by layout-rs.

use layout::{
    backends::svg::SVGWriter,
    core::{
        base::Orientation,
        color::Color,
        geometry::Point,
        style::{LineStyleKind, StyleAttr},
    },
    std_shapes::shapes::{Arrow, Element, ShapeKind},
    topo::layout::VisualGraph,
};

use super::drawing::{Drawing, Form, Line, Shape};

/// Width of a character and height of a line, in pixels.
const CHARACTER: f64 = 9.0;
const LINE: f64 = 22.0;

/// Size of all texts, in pixels. The library writes several sizes in a random order.
const FONT: usize = 15;

pub(super) fn write(drawing: &Drawing) -> String {
    let mut graph = VisualGraph::new(Orientation::TopToBottom);
    let handles: Vec<_> =
        drawing.shapes.iter().map(|shape| graph.add_node(element(shape))).collect();
    let of = |id: &str| {
        let at = drawing.shapes.iter().position(|shape| shape.id == id);
        at.and_then(|at| handles.get(at)).copied()
    };
    for line in &drawing.lines {
        if let (Some(from), Some(to)) = (of(&line.from), of(&line.to)) {
            graph.add_edge(arrow(line), from, to);
        }
    }
    let mut writer = SVGWriter::new();
    graph.do_it(false, false, false, &mut writer);
    writer.finalize()
}

fn element(shape: &Shape) -> Element {
    let text = shape.lines.join("\n");
    let (kind, rounded, fill) = match shape.form {
        Form::Box => (ShapeKind::new_box(&text), 0, "white"),
        Form::Diamond => (ShapeKind::new_box(&text), 0, "lightyellow"),
        Form::Bar => (ShapeKind::new_box(&text), 0, "lightgrey"),
        Form::Round => (ShapeKind::new_box(&text), 15, "lightblue"),
        Form::Circle => (ShapeKind::new_circle(&text), 0, "white"),
    };
    let look = StyleAttr::new(Color::fast("black"), 1, Some(Color::fast(fill)), rounded, FONT);
    let longest = shape.lines.iter().map(|line| line.chars().count()).max().unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "labels are short")]
    let size =
        Point::new(longest as f64 * CHARACTER + 20.0, shape.lines.len() as f64 * LINE + 16.0);
    Element::create(kind, look, Orientation::TopToBottom, size)
}

fn arrow(line: &Line) -> Arrow {
    let mut arrow = Arrow::simple(&line.label);
    arrow.look.line_width = 1;
    arrow.look.font_size = FONT;
    if line.is_dashed {
        arrow.line_style = LineStyleKind::Dashed;
    }
    arrow
}
