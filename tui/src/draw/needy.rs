//! The screen of what needs an operator: dead letters, and jobs that are held up.

use proto::{door::DeadKind, escape};
use ratatui::layout::Rect;

use super::cells::{Pen, pad_left, wrapped};
use crate::{
    model::Needy,
    render::{line::Line, marks, style::Tone, text},
    words::Text,
};

/// Rows below the list about the row that the cursor is on.
const DETAILS: u16 = 6;

pub(super) fn draw(pen: &mut Pen<'_>, area: Rect) {
    let model = pen.model;
    let needy = model.needy();
    if needy.is_empty() {
        return pen.empty(area, &pen.say(Text::NothingNeedsYou));
    }
    let details = if area.height >= 2 * DETAILS { DETAILS } else { area.height / 2 };
    let list = Rect { height: area.height - details, ..area };
    let width = usize::from(area.width.saturating_sub(2));
    let rows: Vec<Line> = needy.iter().map(|row| self::row(pen, row, width)).collect();
    pen.list(list, &rows, model.cursor());
    if let Some(row) = needy.get(model.cursor()) {
        let below = Rect { y: area.y + list.height, height: details, ..area };
        let inner = pen.titled(below, row.job().as_str(), false);
        let inner = Rect { x: inner.x + 2, width: inner.width.saturating_sub(4), ..inner };
        pen.lines(inner, &about(pen, row, usize::from(inner.width)));
    }
}

fn row(pen: &Pen<'_>, row: &Needy<'_>, width: usize) -> Line {
    let style = pen.model.style(width);
    let (mark, tone, words, since) = match row {
        Needy::Dead(letter) => ("✗", Tone::Bad, letter.reason.clone(), letter.since),
        Needy::Job(job) => {
            let (mark, tone) = marks::job(job.state);
            let why = job.why.as_ref();
            let tone = if why.is_some_and(|why| why.reason.is_fault()) { Tone::Bad } else { tone };
            let words = why.map(|why| why.reason.text(style.language)).unwrap_or_default();
            (mark, tone, words, why.map_or(job.updated, |why| why.since))
        }
    };
    let since = style.time(since);
    let room = width.saturating_sub(2 + 10);
    let words = text::fit(&escape::line(&words), room);
    let space = " ".repeat(room.saturating_sub(text::width(&words)));
    Line::new()
        .add(tone, format!("{mark} "))
        .add(Tone::Plain, format!("{words}{space}"))
        .add(Tone::Dim, pad_left(&since, 10))
}

/// Says what the matter is, and what helps.
fn about(pen: &Pen<'_>, row: &Needy<'_>, width: usize) -> Vec<Line> {
    let language = pen.model.language;
    match row {
        Needy::Dead(letter) => {
            let kind = match letter.kind {
                DeadKind::Unreadable => Text::DeadUnreadable { seq: &letter.seq },
                DeadKind::Broken => Text::DeadBroken,
                DeadKind::GivenUp => Text::DeadGivenUp,
            };
            let mut lines = wrapped(Tone::Bad, &pen.say(kind), width);
            lines.extend(wrapped(Tone::Plain, &escape::line(&letter.reason), width));
            lines
        }
        Needy::Job(job) => {
            let mut lines = wrapped(Tone::Plain, &escape::line(&job.goal), width);
            lines.truncate(1);
            if let Some(why) = &job.why {
                lines.extend(wrapped(Tone::Bad, &escape::line(&why.reason.text(language)), width));
                let next = why.reason.unblock(&job.job, language);
                let next = next.map(|next| escape::line(&next).into_owned());
                lines.extend(next.iter().flat_map(|next| wrapped(Tone::Dim, next, width)));
            }
            lines
        }
    }
}
