//! Drawings as images.

use std::{collections::BTreeMap, fmt::Write};

use proto::step::StepState;

use super::{
    drawing::{Drawing, Form, Line, Shape},
    layers::{Layout, Point, Route, Size, layout},
    marks::{Colours, colours},
};

/// Widths of a column of text, by the size of the text, in pixels.
const COLUMN: f64 = 7.2;
const LABEL_COLUMN: f64 = 6.2;
/// Height of a line of text, in pixels.
const LINE: f64 = 17.0;
/// Space around the drawing, in pixels.
const MARGIN: f64 = 16.0;
/// Characters of the label of a line.
const LABEL_CHARS: usize = 34;

const STYLE: &str = "text{font:13px system-ui,'DejaVu Sans','Noto Sans CJK SC',sans-serif;fill:#1d2129;\
    text-anchor:middle}.sub{font-size:12px;fill:#4b515c}.label{font-size:11px;fill:#4b515c;stroke:#fff;\
    stroke-width:4px;paint-order:stroke;stroke-linejoin:round}.used{fill:#1d2129}";

pub(super) fn write(drawing: &Drawing) -> String {
    let sizes: Vec<Size> = drawing.shapes.iter().map(size).collect();
    let place = |id: &str| drawing.shapes.iter().position(|shape| shape.id == id);
    let merged = merged(&drawing.lines);
    let drawn: Vec<(&Line, (usize, usize))> = merged
        .iter()
        .filter_map(|line| Some((line, (place(&line.from)?, place(&line.to)?))))
        .collect();
    let ends: Vec<(usize, usize)> = drawn.iter().map(|(_, ends)| *ends).collect();
    // The paths of a split lie between it and its join, also where none of them leads there.
    let joins: Vec<(usize, usize)> = drawing
        .shapes
        .iter()
        .enumerate()
        .filter_map(|(join, shape)| Some((place(shape.joins.as_deref()?)?, join)))
        .collect();
    let Layout { nodes, lines, size } = layout(&sizes, &ends, &joins);
    let lines: Vec<Route> = ends
        .iter()
        .zip(lines)
        .map(|((from, to), route)| {
            let corner = |node: &usize, (x, y): Point| {
                let is_pointed =
                    drawing.shapes.get(*node).is_some_and(|shape| shape.form == Form::Diamond);
                let middle = nodes.get(*node).map_or(y, |(_, middle)| *middle);
                (x, if is_pointed { middle } else { y })
            };
            match route {
                Route::Forwards(points) => Route::Forwards(points),
                Route::Back { from: start, lane, to: end } => {
                    Route::Back { from: corner(from, start), lane, to: corner(to, end) }
                }
            }
        })
        .collect();
    // Labels of the lines of one node are above each other, because they are near each other.
    let mut before: BTreeMap<&str, f64> = BTreeMap::new();
    let labels = drawn.iter().zip(&lines).map(|((line, _), route)| {
        let step = before.entry(line.from.as_str()).or_default();
        let label = label(line, route, *step);
        if !line.label.is_empty() {
            *step += 13.0;
        }
        label
    });
    let labels: Vec<Label> = labels.collect();
    let widest = labels.iter().map(|label| label.right).fold(size.width, f64::max);
    let (width, height) = (widest + 2.0 * MARGIN, size.height + 2.0 * MARGIN);
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" \
         width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"-{MARGIN} -{MARGIN} {width:.0} {height:.0}\">\n\
         <style>{STYLE}</style>\n<rect x=\"-{MARGIN}\" y=\"-{MARGIN}\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    for ((line, _), route) in drawn.iter().zip(&lines) {
        self::line(&mut out, line, route);
    }
    for ((shape, at), size) in drawing.shapes.iter().zip(nodes).zip(sizes) {
        self::shape(&mut out, shape, at, size);
    }
    for label in &labels {
        out.push_str(&label.text);
    }
    out.push_str("</svg>\n");
    out
}

/// Returns the lines with those between the same shapes as one.
fn merged(lines: &[Line]) -> Vec<Line> {
    let mut merged: Vec<Line> = Vec::new();
    for line in lines {
        match merged.iter_mut().find(|one| one.from == line.from && one.to == line.to) {
            None => merged.push(line.clone()),
            Some(one) => {
                let labels = [one.label.as_str(), line.label.as_str()];
                let told: Vec<&str> = labels.into_iter().filter(|text| !text.is_empty()).collect();
                one.label = told.join(" · ");
                one.is_dashed &= line.is_dashed;
                one.taken = one.taken.zip(line.taken).map(|(one, other)| one.saturating_add(other));
            }
        }
    }
    merged
}

/// Returns the columns of a text; letters of East Asia take two.
fn columns(text: &str) -> f64 {
    text.chars().map(|c| if u32::from(c) >= 0x1100 { 1.75 } else { 1.0 }).sum()
}

fn size(shape: &Shape) -> Size {
    let longest = shape.lines.iter().map(|line| columns(line)).fold(0.0, f64::max) * COLUMN;
    let lines: f64 = shape.lines.iter().map(|_| LINE).sum();
    match shape.form {
        // The text is in the middle of the diamond.
        Form::Diamond => Size { width: longest * 1.35 + 48.0, height: lines * 1.45 + 22.0 },
        Form::Circle => Size { width: (longest + 30.0).max(60.0), height: lines + 10.0 },
        Form::Bar if shape.joins.is_some() => Size { width: longest + 28.0, height: lines + 6.0 },
        Form::Bar | Form::Box | Form::Round => {
            Size { width: (longest + 28.0).max(96.0), height: lines + 14.0 }
        }
    }
}

fn shape(out: &mut String, shape: &Shape, (x, y): Point, Size { width, height }: Size) {
    let Colours { fill, line } = shape.state.map_or_else(|| plain(shape.form), colours);
    let (left, top) = (x - width / 2.0, y - height / 2.0);
    let thick = match shape.state {
        Some(StepState::Running | StepState::Waiting | StepState::Failed) => 2.5,
        Some(_) | None => 1.3,
    };
    let look = format!("fill=\"{fill}\" stroke=\"{line}\" stroke-width=\"{thick}\"");
    let _ = match shape.form {
        Form::Diamond => {
            let (right, bottom) = (left + width, top + height);
            writeln!(
                out,
                "<path d=\"M{left:.1} {y:.1}L{x:.1} {top:.1}L{right:.1} {y:.1}L{x:.1} {bottom:.1}z\" {look}/>"
            )
        }
        Form::Box | Form::Bar | Form::Round | Form::Circle => {
            let radius = match shape.form {
                Form::Round => 16.0,
                Form::Circle => height / 2.0,
                Form::Bar => 2.0,
                Form::Box | Form::Diamond => 6.0,
            };
            writeln!(
                out,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{radius:.1}\" {look}/>"
            )
        }
    };
    let count: f64 = shape.lines.iter().map(|_| LINE).sum();
    let mut baseline = y - count / 2.0 + LINE * 0.74;
    for (n, text) in shape.lines.iter().enumerate() {
        let class = if n == 0 { "" } else { " class=\"sub\"" };
        let text = escaped(text);
        let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{baseline:.1}\"{class}>{text}</text>");
        baseline += LINE;
    }
}

/// Returns the colours of a shape without a state.
fn plain(form: Form) -> Colours {
    let fill = match form {
        Form::Box | Form::Circle => "#ffffff",
        Form::Diamond => "#fdf6e3",
        Form::Bar => "#eef0f3",
        Form::Round => "#e8f0fb",
    };
    Colours { fill, line: "#5b616c" }
}

fn line(out: &mut String, line: &Line, route: &Route) {
    let (colour, width) = match (line.is_used(), line.is_unused()) {
        (true, _) => ("#2f8f57", 2.2),
        (false, true) => ("#b4b9c2", 1.2),
        (false, false) => ("#5b616c", 1.3),
    };
    let dashed = if line.is_dashed { " stroke-dasharray=\"5 4\"" } else { "" };
    let (path, tip) = match route {
        Route::Forwards(points) => forwards(points),
        Route::Back { from, lane, to } => back(*from, *lane, *to),
    };
    let _ = writeln!(
        out,
        "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{dashed}/><path d=\"{tip}\" fill=\"{colour}\"/>"
    );
}

/// Returns a smooth path that is vertical at its ends, and its arrow.
fn forwards(points: &[Point]) -> (String, String) {
    let mut path = String::new();
    let mut before: Option<Point> = None;
    let last = points.len().saturating_sub(1);
    let (mut x, mut y) = (0.0, 0.0);
    for (n, point) in points.iter().enumerate() {
        (x, y) = *point;
        // The line ends below the tip of its arrow.
        let end = if n == last { y - 6.0 } else { y };
        match before {
            None => {
                let _ = write!(path, "M{x:.1} {y:.1}");
            }
            Some((x0, y0)) => {
                let middle = f64::midpoint(y0, end);
                let _ = write!(path, "C{x0:.1} {middle:.1} {x:.1} {middle:.1} {x:.1} {end:.1}");
            }
        }
        before = Some(*point);
    }
    (path, format!("M{:.1} {:.1}L{x:.1} {y:.1}L{:.1} {:.1}z", x - 4.5, y - 8.0, x + 4.5, y - 8.0))
}

/// Returns a path over a lane with round corners, and its arrow.
fn back((x0, y0): Point, lane: f64, (x1, y1): Point) -> (String, String) {
    let radius = ((y0 - y1).abs() / 2.0).min(8.0);
    let turn = if y1 < y0 { -radius } else { radius };
    let path = format!(
        "M{x0:.1} {y0:.1}H{:.1}Q{lane:.1} {y0:.1} {lane:.1} {:.1}V{:.1}Q{lane:.1} {y1:.1} {:.1} {y1:.1}H{:.1}",
        lane - radius,
        y0 + turn,
        y1 - turn,
        lane - radius,
        x1 + 6.0
    );
    (
        path,
        format!(
            "M{:.1} {:.1}L{x1:.1} {y1:.1}L{:.1} {:.1}z",
            x1 + 8.0,
            y1 - 4.5,
            x1 + 8.0,
            y1 + 4.5
        ),
    )
}

/// A label, and its right end.
struct Label {
    text: String,
    right: f64,
}

/// Returns the label of a line: in the middle of its first part, or beside its lane.
fn label(line: &Line, route: &Route, below: f64) -> Label {
    if line.label.is_empty() {
        return Label { text: String::new(), right: 0.0 };
    }
    let short: String = match line.label.chars().count() > LABEL_CHARS {
        true => line.label.chars().take(LABEL_CHARS - 1).chain(['…']).collect(),
        false => line.label.clone(),
    };
    let wide = columns(&short) * LABEL_COLUMN;
    let (x, y) = match route {
        Route::Forwards(points) => match points.as_slice() {
            [(x0, y0), (x1, y1), ..] => {
                (f64::midpoint(*x0, *x1), f64::midpoint(*y0, *y1) - 8.0 + below)
            }
            [_] | [] => (0.0, 0.0),
        },
        Route::Back { from, lane, to } => (lane + wide / 2.0 + 6.0, f64::midpoint(from.1, to.1)),
    };
    let class = if line.is_used() { "label used" } else { "label" };
    let full = if short == line.label {
        String::new()
    } else {
        format!("<title>{}</title>", escaped(&line.label))
    };
    let text = format!(
        "<text x=\"{x:.1}\" y=\"{:.1}\" class=\"{class}\">{full}{}</text>\n",
        y + 4.0,
        escaped(&short)
    );
    Label { text, right: x + wide / 2.0 }
}

/// Returns a text as the content of an element, without characters that XML lacks.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}
