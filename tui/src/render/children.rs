//! Rendering of the jobs of sub-agents.

use proto::{escape, view::JobView};

use super::{line::Line, marks, style::Tone};

/// Renders a line for each child job, and for each question open in it or below it.
#[must_use]
pub fn rows(view: &JobView) -> Vec<Line> {
    let mut lines = Vec::new();
    for child in &view.children {
        let (mark, tone) = marks::job(child.state);
        let line = Line::new().add(tone, format!("  {mark} {} ", escape::line(&child.path)));
        let line =
            line.add(Tone::Plain, format!("{} ", child.agent)).add(tone, child.state.as_str());
        lines.push(line.add(Tone::Dim, format!(" {}", child.job)));
        for below in &child.questions {
            let (path, asked) = (escape::line(&below.path), &below.question);
            let head = format!("    ⏸ {path} {} {}: ", asked.id, asked.kind.name());
            let line = Line::new().add(Tone::Wait, head);
            lines.push(line.add(Tone::Plain, escape::line(&asked.prompt)));
        }
    }
    lines
}
