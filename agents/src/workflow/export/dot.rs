//! Drawings in the language of Graphviz.

use std::fmt::Write;

use super::{
    drawing::{Drawing, Form},
    marks::{Colours, colours},
};

pub(super) fn write(name: &str, drawing: &Drawing) -> String {
    let mut out =
        format!("digraph {} {{\n  rankdir=TB;\n  node [fontname=\"sans-serif\"];\n", quoted(name));
    for shape in &drawing.shapes {
        let style = match shape.form {
            Form::Box => "shape=box",
            Form::Diamond => "shape=diamond",
            Form::Bar => "shape=box, style=filled, fillcolor=lightgrey",
            Form::Round => "shape=box, style=rounded",
            Form::Circle => "shape=ellipse",
        };
        let style = match shape.state.map(colours) {
            Some(Colours { fill, line }) => {
                let rounded = if shape.form == Form::Round { "filled,rounded" } else { "filled" };
                let shape = style.split(", style").next().unwrap_or(style);
                format!("{shape}, style=\"{rounded}\", fillcolor=\"{fill}\", color=\"{line}\"")
            }
            None => style.to_owned(),
        };
        let label = quoted(&shape.lines.join("\n"));
        let _ = writeln!(out, "  {} [label={label}, {style}];", shape.id);
    }
    for line in &drawing.lines {
        let mut style = if line.is_dashed { ", style=dashed" } else { "" }.to_owned();
        if line.is_used() {
            style.push_str(", penwidth=2");
        } else if line.is_unused() {
            style.push_str(", color=\"#9aa0ab\", fontcolor=\"#5b616c\"");
        }
        let label = quoted(&line.label);
        let _ = writeln!(out, "  {} -> {} [label={label}{style}];", line.from, line.to);
    }
    out.push_str("}\n");
    out
}

/// Returns a text in quotes. Graphviz reads escapes behind a backslash, and entities of HTML.
fn quoted(text: &str) -> String {
    let escaped =
        text.replace('&', "&amp;").replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}
