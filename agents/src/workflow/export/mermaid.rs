//! Drawings in the language of Mermaid.

use std::{collections::BTreeMap, fmt::Write};

use super::{
    drawing::{Drawing, Form, Shape},
    marks::{Colours, colours},
};

pub(super) fn write(drawing: &Drawing) -> String {
    let mut out = String::from("flowchart TD\n");
    let mut states: BTreeMap<String, Vec<&Shape>> = BTreeMap::new();
    let mut used = Vec::new();
    for shape in &drawing.shapes {
        let lines: Vec<String> = shape.lines.iter().map(|line| escaped(line)).collect();
        let label = lines.join("<br/>");
        let (open, close) = match shape.form {
            Form::Box => ("[", "]"),
            Form::Diamond => ("{", "}"),
            Form::Bar => ("[[", "]]"),
            Form::Round => ("(", ")"),
            Form::Circle => ("([", "])"),
        };
        // `end` is a keyword of Mermaid.
        let id = named(&shape.id);
        let _ = writeln!(out, "  {id}{open}\"{label}\"{close}");
        if let Some(state) = shape.state {
            states.entry(state.to_string()).or_default().push(shape);
        }
    }
    for (place, line) in drawing.lines.iter().enumerate() {
        if line.is_used() {
            used.push(place.to_string());
        }
        let arrow = if line.is_dashed { "-.->" } else { "-->" };
        let (from, to) = (named(&line.from), named(&line.to));
        if line.label.is_empty() {
            let _ = writeln!(out, "  {from} {arrow} {to}");
        } else {
            let _ = writeln!(out, "  {from} {arrow}|\"{}\"| {to}", escaped(&line.label));
        }
    }
    for (name, shapes) in states {
        let Some(state) = shapes.first().and_then(|shape| shape.state) else { continue };
        let Colours { fill, line } = colours(state);
        let _ = writeln!(out, "  classDef {name} fill:{fill},stroke:{line},color:#1d2129");
        let ids: Vec<String> = shapes.iter().map(|shape| named(&shape.id)).collect();
        let _ = writeln!(out, "  class {} {name}", ids.join(","));
    }
    if !used.is_empty() {
        let _ = writeln!(out, "  linkStyle {} stroke-width:3px", used.join(","));
    }
    out
}

fn named(id: &str) -> String {
    if id == "end" { "at_end".to_owned() } else { id.to_owned() }
}

/// Returns a text with every character that Mermaid or HTML could read as an entity code.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '"' | '#' | '&' | '<' | '>' | '`' | ';' | '\\' | '|' | '{' | '}' | '[' | ']' | '('
            | ')' => {
                let _ = write!(out, "#{};", u32::from(c));
            }
            other => out.push(other),
        }
    }
    out
}
