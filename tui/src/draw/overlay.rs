//! What lies over the screen: the dialog of an action, the possible actions, the log of commands.

use proto::escape;
use ratatui::{
    layout::{Position, Rect},
    style::{Modifier, Style},
    widgets::{Block, BorderType, Clear, Widget},
};

use super::cells::{Pen, first, pad, wrapped};
use crate::{
    model::{Dialog, Entry, Overlay, Request, Stage},
    render::{line::Line, style::Tone, text},
    words::Text,
};

/// Most columns of a box.
const WIDTH_MAX: u16 = 72;

/// Draws what lies over the screen. Returns the place of the cursor where a text is typed.
pub(super) fn draw(pen: &mut Pen<'_>, area: Rect) -> Option<Position> {
    let model = pen.model;
    if let Some(dialog) = &model.dialog {
        return self::dialog(pen, area, dialog);
    }
    match &model.overlay {
        Some(Overlay::Help(entry, at)) => Some(help(pen, area, entry, *at)),
        Some(Overlay::Commands(up)) => {
            commands(pen, area, *up);
            None
        }
        None => None,
    }
}

/// Draws an empty box with a title in the middle, and returns its inside.
fn boxed(pen: &mut Pen<'_>, area: Rect, title: &str, rows: usize) -> Rect {
    let width = area.width.min(WIDTH_MAX);
    let height = u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(2).min(area.height);
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    Clear.render(place, pen.buffer);
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(pen.look(Tone::Busy))
        .title(format!(" {title} "))
        .title_style(Style::new().add_modifier(Modifier::BOLD));
    let inner = block.inner(place);
    block.render(place, pen.buffer);
    Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner }
}

fn dialog(pen: &mut Pen<'_>, area: Rect, dialog: &Dialog) -> Option<Position> {
    let width = usize::from(area.width.min(WIDTH_MAX).saturating_sub(4));
    let mut about: Vec<Line> =
        dialog.about.iter().flat_map(|line| wrapped(Tone::Plain, line, width)).collect();
    let mut end: Vec<Line> = Vec::new();
    match &dialog.stage {
        Stage::Writing(_) | Stage::Refused => {}
        Stage::Foreseeing(request) => {
            end.extend(wrapped(Tone::Dim, &pen.say(Text::Foreseeing), width));
            end.push(command(request));
        }
        Stage::Deciding { consequence, requests, again, remember, .. } => {
            if !consequence.is_empty() {
                end.extend(wrapped(Tone::Strong, consequence, width));
            }
            end.extend(requests.first().map(command));
            if let Some(again) = again {
                let mark = if *again { "[x]" } else { "[ ]" };
                let words = format!("{mark} {}", pen.say(Text::AllowAgain));
                end.extend(wrapped(Tone::Wait, &words, width));
            }
            if let Some(remember) = remember {
                let mark = if *remember { "[x]" } else { "[ ]" };
                let words = format!("{mark} {}", pen.say(Text::RememberCall));
                end.extend(wrapped(Tone::Wait, &words, width));
            }
        }
        Stage::Sending { consequence, .. } => end.extend(wrapped(Tone::Dim, consequence, width)),
    }
    let error = dialog.error.iter().flat_map(|why| wrapped(Tone::Bad, why, width));
    let mut error: Vec<Line> = error.collect();
    error.truncate(4);
    end.extend(error);
    // The consequence and the choice stay in sight; what it is about is cut first.
    let room = usize::from(area.height).saturating_sub(2 + end.len() + 2);
    if about.len() > room {
        let hidden = about.len() - room.saturating_sub(1);
        about.truncate(room.saturating_sub(1));
        about.push(Line::new().add(Tone::Wait, pen.say(Text::MoreLines { count: &hidden })));
    }
    let lines: Vec<Line> = about.into_iter().chain(end).collect();
    let inner = boxed(pen, area, &dialog.title, lines.len() + 2);
    let rows = inner.height.saturating_sub(1);
    pen.lines(Rect { height: rows, ..inner }, &lines);
    let last = Rect { y: inner.y + rows, height: 1.min(inner.height), ..inner };
    match &dialog.stage {
        Stage::Writing(entry) => Some(typed(pen, last, "› ", entry)),
        Stage::Deciding { yes, .. } => {
            choice(pen, last, *yes);
            None
        }
        Stage::Foreseeing(_) | Stage::Refused => {
            pen.text(last, 0, Tone::Dim, &pen.say(Text::CloseKey));
            None
        }
        Stage::Sending { .. } => {
            pen.text(last, 0, Tone::Dim, &pen.say(Text::Sending));
            None
        }
    }
}

/// Returns the line with the command that equals a request.
fn command(request: &Request) -> Line {
    let command = escape::line(&request.command()).into_owned();
    Line::new().add(Tone::Dim, format!("$ {command}"))
}

fn choice(pen: &mut Pen<'_>, area: Rect, yes: bool) {
    let mut x = area.x;
    for (is_chosen, text) in [(!yes, Text::No), (yes, Text::Yes)] {
        let label = format!(" {} ", pen.say(text));
        let style = match is_chosen {
            true => Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD),
            false => Style::new(),
        };
        let room = usize::from(area.right().saturating_sub(x));
        if area.height > 0 {
            (x, _) = pen.buffer.set_stringn(x, area.y, &label, room, style);
        }
        x = x.saturating_add(2).min(area.right());
    }
    let rest = Rect { x, width: area.right().saturating_sub(x), ..area };
    pen.text(rest, 0, Tone::Dim, &pen.say(Text::ChoiceKeys));
}

/// Draws a line that is typed, scrolled to its cursor. Returns the place of the cursor.
fn typed(pen: &mut Pen<'_>, area: Rect, mark: &str, entry: &Entry) -> Position {
    let taken = text::width(mark);
    let room = usize::from(area.width).saturating_sub(taken + 1).max(1);
    let (whole, before) = (entry.text(), entry.before());
    let mut cut = 0;
    let mut shown = before.as_str();
    // The cursor stays in sight.
    while text::width(shown) > room {
        let first = shown.chars().next().map_or(0, char::len_utf8);
        cut += first;
        shown = shown.get(first..).unwrap_or_default();
    }
    let line = Line::new().add(Tone::Busy, mark);
    let visible = text::fit_hard(whole.get(cut..).unwrap_or_default(), room);
    pen.line(area, 0, &line.add(Tone::Plain, visible));
    let x = u16::try_from(taken + text::width(shown)).unwrap_or_default();
    Position { x: area.x.saturating_add(x).min(area.right().saturating_sub(1)), y: area.y }
}

fn help(pen: &mut Pen<'_>, area: Rect, entry: &Entry, at: usize) -> Position {
    let model = pen.model;
    let found = model.help(&entry.text());
    let rows: Vec<Line> = found
        .iter()
        .map(|action| {
            Line::new()
                .add(Tone::Busy, pad(&action.key_name(), 7))
                .add(Tone::Plain, pen.say(action.name(model)))
        })
        .collect();
    let all = model.help("").len();
    let inner = boxed(pen, area, &pen.say(Text::HelpTitle), all + 2);
    let top = Rect { height: 1.min(inner.height), ..inner };
    let list = super::cells::below(inner, 2);
    let from = first(rows.len(), at, usize::from(list.height));
    let shown = Rect { x: list.x + 2, width: list.width.saturating_sub(2), ..list };
    for (row, (n, line)) in (0..list.height).zip(rows.iter().enumerate().skip(from)) {
        pen.line(shown, row, line);
        if n == at {
            pen.mark_row(list, row);
        }
    }
    typed(pen, top, "? ", entry)
}

fn commands(pen: &mut Pen<'_>, area: Rect, up: usize) {
    let model = pen.model;
    let lines: Vec<Line> = model
        .log
        .iter()
        .map(|logged| {
            let (mark, tone) = match logged.success {
                None => ("▸", Tone::Busy),
                Some(true) => ("✓", Tone::Good),
                Some(false) => ("✗", Tone::Bad),
            };
            Line::new()
                .add(tone, format!("{mark} "))
                .add(Tone::Dim, format!("{} ", logged.at.strftime("%H:%M:%S")))
                .add(Tone::Plain, escape::line(&logged.command))
        })
        .collect();
    let rows = lines.len().clamp(3, usize::from(area.height).saturating_sub(4).max(3));
    let inner = boxed(pen, area, &pen.say(Text::CommandsTitle), rows);
    if lines.is_empty() {
        let words = pen.say(Text::NoCommands);
        let lines = wrapped(Tone::Dim, &words, usize::from(inner.width));
        return pen.lines(inner, &lines);
    }
    pen.tail(inner, &lines, up);
}
