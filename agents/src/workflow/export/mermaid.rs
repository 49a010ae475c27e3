//! Drawings in the language of Mermaid.

use std::fmt::Write;

use super::drawing::{Drawing, Form};

pub(super) fn write(drawing: &Drawing) -> String {
    let mut out = String::from("flowchart TD\n");
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
    }
    for line in &drawing.lines {
        let arrow = if line.is_dashed { "-.->" } else { "-->" };
        let (from, to) = (named(&line.from), named(&line.to));
        if line.label.is_empty() {
            let _ = writeln!(out, "  {from} {arrow} {to}");
        } else {
            let _ = writeln!(out, "  {from} {arrow}|\"{}\"| {to}", escaped(&line.label));
        }
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
