//! Tables with one line per row; on a narrow screen, one block of lines per row.

use comfy_table::{Attribute, Cell, Color, ContentArrangement, Table, presets};

use crate::{
    render::line::Line,
    style::{Style, Tone},
    text,
    words::Text,
};

/// Fewest columns of the last cell; with less space, rows become blocks.
const LAST_MIN: usize = 12;

/// A cell: its colour and its text, which is free of control characters.
pub(crate) type Piece = (Tone, String);

/// Creates a cell without colour.
pub(crate) fn plain(text: impl Into<String>) -> Piece {
    (Tone::Plain, text.into())
}

/// Renders rows under their headings. Columns whose heading ends with `?` are omitted for lack of
/// space, from right to left. `empty` replaces a table without rows.
pub(crate) fn table(
    style: &Style,
    heads: Text<'_>,
    rows: Vec<Vec<Piece>>,
    empty: Text<'_>,
) -> String {
    if rows.is_empty() {
        return note(style, &style.say(empty));
    }
    let heads = style.say(heads);
    grid(style, &heads.split(';').collect::<Vec<_>>(), rows)
}

/// Renders rows under these headings.
pub(crate) fn grid(style: &Style, heads: &[&str], rows: Vec<Vec<Piece>>) -> String {
    let (heads, rows, last) = match arranged(style, heads, rows) {
        Ok(arranged) => arranged,
        Err((heads, rows)) => return blocks(style, &heads, &rows),
    };
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    if style.color {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    table.set_header(heads.iter().map(|head| Cell::new(head).add_attribute(Attribute::Dim)));
    for mut row in rows {
        if let Some((_, text)) = row.last_mut() {
            *text = text::fit(text, last);
        }
        table.add_row(row.into_iter().map(cell).collect::<Vec<_>>());
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    format!("{}\n", table.trim_fmt())
}

type Arranged<'a> = (Vec<&'a str>, Vec<Vec<Piece>>, usize);

/// Omits optional columns for lack of space. Returns the input as an error if the rest does not fit
/// either.
fn arranged<'a>(
    style: &Style,
    heads: &[&'a str],
    mut rows: Vec<Vec<Piece>>,
) -> Result<Arranged<'a>, (Vec<&'a str>, Vec<Vec<Piece>>)> {
    let bare = |heads: &[&'a str]| -> Vec<&'a str> {
        heads.iter().map(|head| head.trim_end_matches('?')).collect()
    };
    let mut heads = heads.to_vec();
    let all = (bare(&heads), rows.clone());
    loop {
        if let Some(last) = room(style, &bare(&heads), &rows) {
            return Ok((bare(&heads), rows, last));
        }
        let Some(at) = heads.iter().rposition(|head| head.ends_with('?')) else { return Err(all) };
        heads.remove(at);
        for row in &mut rows {
            row.remove(at);
        }
    }
}

/// Returns the columns left for the last cell; `None` if too few. Ids are never cut, because users
/// copy them.
fn room(style: &Style, heads: &[&str], rows: &[Vec<Piece>]) -> Option<usize> {
    let Some(width) = style.width else { return Some(usize::MAX) };
    let widest = |at: usize, head: &str| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        cells.map(|(_, t)| text::width(t)).chain([text::width(head)]).max().unwrap_or(0)
    };
    let others = heads.len().saturating_sub(1);
    let taken: usize = heads.iter().take(others).enumerate().map(|(n, h)| widest(n, h) + 2).sum();
    width.checked_sub(taken).filter(|room| *room >= LAST_MIN)
}

/// Renders a sentence below or instead of a table.
pub(crate) fn note(style: &Style, words: &str) -> String {
    let lines = text::wrap(words, style.columns());
    lines.iter().map(|line| format!("{}\n", style.paint(Tone::Dim, line))).collect()
}

fn cell((tone, text): Piece) -> Cell {
    let cell = Cell::new_owned(text);
    match tone {
        Tone::Plain => cell,
        Tone::Strong => cell.add_attribute(Attribute::Bold),
        Tone::Dim => cell.add_attribute(Attribute::Dim),
        Tone::Good => cell.fg(Color::DarkGreen),
        Tone::Busy => cell.fg(Color::DarkCyan),
        Tone::Wait => cell.fg(Color::DarkYellow),
        Tone::Bad => cell.fg(Color::DarkRed),
    }
}

fn blocks(style: &Style, heads: &[&str], rows: &[Vec<Piece>]) -> String {
    let widest = heads.iter().map(|head| text::width(head)).max().unwrap_or(0);
    let mut out = String::new();
    for (n, row) in rows.iter().enumerate() {
        if n > 0 {
            out.push('\n');
        }
        for (at, (head, (tone, value))) in heads.iter().zip(row).enumerate() {
            let line = if at == 0 {
                Line::new().add(Tone::Strong, value.as_str())
            } else if value.is_empty() {
                continue;
            } else {
                let head =
                    format!("  {}{} ", head.to_lowercase(), " ".repeat(widest - text::width(head)));
                Line::new().add(Tone::Dim, head).add(*tone, value.as_str())
            };
            out.push_str(&line.render(style));
            out.push('\n');
        }
    }
    out
}

/// Renders labels and values; the values are wrapped beside their labels.
pub(crate) fn pairs(style: &Style, pairs: &[(Text<'_>, Piece)]) -> String {
    let said = pairs.iter().map(|(label, piece)| (style.say(*label), piece.clone()));
    fields(style, &said.collect::<Vec<_>>())
}

/// Renders labels in any words and values; the values are wrapped beside their labels.
pub(crate) fn fields(style: &Style, fields: &[(String, Piece)]) -> String {
    let shown = || fields.iter().filter(|(_, (_, value))| !value.is_empty());
    let widest = shown().map(|(label, _)| text::width(label)).max().unwrap_or(0);
    let room = style.columns().saturating_sub(widest + 2).max(8);
    let mut out = String::new();
    for (label, (tone, value)) in shown() {
        for (n, line) in text::wrap(value, room).into_iter().enumerate() {
            let label = if n == 0 { label.as_str() } else { "" };
            let space = " ".repeat(widest + 2 - text::width(label));
            out.push_str(&style.paint(Tone::Dim, label));
            out.push_str(format!("{space}{}", style.paint(*tone, &line)).trim_end());
            out.push('\n');
        }
    }
    out
}
