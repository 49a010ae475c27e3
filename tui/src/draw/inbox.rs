//! The screen of open questions: a list, and the question that the cursor is on.

use proto::{door::InboxEntry, escape};
use ratatui::layout::Rect;

use super::{
    WIDE,
    cells::{Pen, pad, pad_left},
};
use crate::{
    render::{line::Line, question, style::Tone},
    words::Text,
};

pub(super) fn draw(pen: &mut Pen<'_>, area: Rect) {
    let model = pen.model;
    let questions = model.questions();
    if questions.is_empty() {
        let words = match model.filter.as_str() {
            "" => pen.say(Text::NoQuestionsWait),
            filter => pen.say(Text::NoMatch { filter: &escape::line(filter) }),
        };
        return pen.empty(area, &words);
    }
    let (list, shown) = match area.width >= WIDE {
        true => {
            let left = area.width * 2 / 5;
            let list = Rect { width: left, ..area };
            (list, Rect { x: area.x + left + 2, width: area.width - left - 2, ..area })
        }
        false => {
            let rows = u16::try_from(questions.len()).unwrap_or(u16::MAX).min(area.height / 4 + 1);
            let list = Rect { height: rows, ..area };
            (list, Rect { y: area.y + rows, height: area.height - rows, ..area })
        }
    };
    let width = usize::from(list.width.saturating_sub(2));
    let rows: Vec<Line> = questions.iter().map(|entry| row(pen, entry, width)).collect();
    pen.list(list, &rows, model.cursor());
    if let Some(entry) = questions.get(model.cursor()) {
        let title = format!("{} {}", entry.job, entry.question.id);
        let inner = pen.titled(shown, &title, true);
        let lines = of_question(pen, entry, usize::from(inner.width));
        let hidden = lines.len().saturating_sub(usize::from(inner.height));
        pen.lines(inner, &lines);
        if hidden > 0 && inner.height > 0 {
            let row = inner.height - 1;
            let more = pen.say(Text::MoreLines { count: &(hidden + 1) });
            pen.text(inner, row, Tone::Wait, &pad(&more, usize::from(inner.width)));
        }
    }
}

fn row(pen: &Pen<'_>, entry: &InboxEntry, width: usize) -> Line {
    let asked = pen.model.style(width).time(entry.asked);
    let prompt = escape::line(&entry.question.prompt);
    let rest = width.saturating_sub(2 + 9);
    Line::new()
        .add(Tone::Wait, "⏸ ")
        .add(Tone::Plain, pad(&prompt, rest))
        .add(Tone::Dim, pad_left(&asked, 9))
}

/// Returns the lines of a question: the goal, then the question in full.
fn of_question(pen: &Pen<'_>, entry: &InboxEntry, width: usize) -> Vec<Line> {
    let style = pen.model.style(width);
    let goal = Line::new()
        .add(Tone::Dim, format!("  {} ", entry.question.kind.name()))
        .add(Tone::Plain, escape::line(&entry.goal));
    let closes = entry.question.deadline.map(|at| {
        let time = &style.time(at);
        Line::new().add(Tone::Wait, format!("  {}", pen.say(Text::Closes { time })))
    });
    let body = question::body(&style, &entry.question);
    let body = body.lines().map(|line| Line::new().add(Tone::Plain, line));
    std::iter::once(goal).chain(closes).chain([Line::new()]).chain(body).collect()
}
