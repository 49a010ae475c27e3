//! Drawing of lines, rules and lists. Every line is cut to its area.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Color, Modifier, Style},
};

use crate::{
    model::Model,
    render::{line::Line, style::Tone, text},
    words::Text,
};

/// What drawing needs: the buffer and the model.
pub(super) struct Pen<'a> {
    /// The buffer that is filled.
    pub(super) buffer: &'a mut Buffer,
    /// The model that is drawn.
    pub(super) model: &'a Model,
    /// `true` if colours are used.
    pub(super) color: bool,
}

impl Pen<'_> {
    /// Returns a text in the language of the model.
    pub(super) fn say(&self, text: Text<'_>) -> String {
        text.text(self.model.language)
    }

    /// Returns the look of a tone.
    pub(super) fn look(&self, tone: Tone) -> Style {
        let colored = |color: Color| {
            if self.color { Style::new().fg(color) } else { Style::new() }
        };
        match tone {
            Tone::Plain => Style::new(),
            Tone::Strong => Style::new().add_modifier(Modifier::BOLD),
            Tone::Dim => Style::new().add_modifier(Modifier::DIM),
            Tone::Good => colored(Color::Green),
            Tone::Busy => colored(Color::Cyan),
            Tone::Wait => colored(Color::Yellow),
            Tone::Bad => colored(Color::Red),
        }
    }

    /// Draws a line at a row of an area.
    pub(super) fn line(&mut self, area: Rect, row: u16, line: &Line) {
        if row >= area.height || area.width == 0 {
            return;
        }
        let mut x = area.x;
        for (tone, piece) in line.cut(usize::from(area.width)) {
            let room = usize::from(area.right().saturating_sub(x));
            let (after, _) = self.buffer.set_stringn(x, area.y + row, piece, room, self.look(tone));
            x = after;
        }
    }

    /// Draws a text of one tone at a row of an area.
    pub(super) fn text(&mut self, area: Rect, row: u16, tone: Tone, words: &str) {
        self.line(area, row, &Line::new().add(tone, words));
    }

    /// Draws lines from the top of an area.
    pub(super) fn lines<'l>(&mut self, area: Rect, lines: impl IntoIterator<Item = &'l Line>) {
        for (row, line) in (0..area.height).zip(lines) {
            self.line(area, row, line);
        }
    }

    /// Draws the end of the lines, scrolled up by some; from the top when they fit.
    pub(super) fn tail(&mut self, area: Rect, lines: &[Line], scrolled: usize) {
        let room = usize::from(area.height);
        let from = lines.len().saturating_sub(room);
        let from = from.saturating_sub(scrolled);
        self.lines(area, lines.iter().skip(from));
    }

    /// Draws a rule with a title, and returns the area below it.
    pub(super) fn titled(&mut self, area: Rect, title: &str, is_focused: bool) -> Rect {
        if area.height == 0 {
            return area;
        }
        let tone = if is_focused { Tone::Strong } else { Tone::Dim };
        let mark = if is_focused { "▪ " } else { "─ " };
        let taken = text::width(mark) + text::width(title) + 1;
        let rest = "─".repeat(usize::from(area.width).saturating_sub(taken));
        let line = Line::new()
            .add(if is_focused { Tone::Busy } else { Tone::Dim }, mark)
            .add(tone, title)
            .add(Tone::Dim, format!(" {rest}"));
        self.line(area, 0, &line);
        below(area, 1)
    }

    /// Marks the row of the cursor.
    pub(super) fn mark_row(&mut self, area: Rect, row: u16) {
        if row < area.height && area.width > 0 {
            let style = self.look(Tone::Busy).add_modifier(Modifier::BOLD);
            self.buffer.set_stringn(area.x, area.y + row, "›", 1, style);
            let rest = Rect { y: area.y + row, height: 1, ..area };
            self.buffer.set_style(rest, Style::new().add_modifier(Modifier::BOLD));
        }
    }

    /// Draws rows that scroll with the cursor. Each has two columns for the cursor before it.
    pub(super) fn list(&mut self, area: Rect, rows: &[Line], cursor: usize) {
        let from = first(rows.len(), cursor, usize::from(area.height));
        let inner = Rect { x: area.x + 2, width: area.width.saturating_sub(2), ..area };
        for (row, (at, line)) in (0..area.height).zip(rows.iter().enumerate().skip(from)) {
            self.line(inner, row, line);
            if at == cursor {
                self.mark_row(area, row);
            }
        }
    }

    /// Draws a sentence where there is nothing else.
    pub(super) fn empty(&mut self, area: Rect, words: &str) {
        let area = Rect { x: area.x + 2, width: area.width.saturating_sub(4), ..area };
        let wrapped = text::wrap(words, usize::from(area.width));
        let lines: Vec<Line> =
            wrapped.iter().map(|line| Line::new().add(Tone::Dim, line.as_str())).collect();
        self.lines(below(area, u16::from(area.height > 3)), &lines);
    }
}

/// Returns the first row to show, so that the cursor is in sight.
pub(super) fn first(rows: usize, cursor: usize, room: usize) -> usize {
    cursor.saturating_sub(room / 2).min(rows.saturating_sub(room))
}

/// Returns an area without its first rows.
pub(super) fn below(area: Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    Rect { y: area.y + rows, height: area.height - rows, ..area }
}

/// Fills a text up to `columns`, or cuts it.
pub(super) fn pad(words: &str, columns: usize) -> String {
    let cut = text::fit(words, columns);
    let space = columns.saturating_sub(text::width(&cut));
    format!("{cut}{}", " ".repeat(space))
}

/// Moves a text to the right end of `columns`, or cuts it.
pub(super) fn pad_left(words: &str, columns: usize) -> String {
    let cut = text::fit(words, columns);
    let space = columns.saturating_sub(text::width(&cut));
    format!("{}{cut}", " ".repeat(space))
}

/// Wraps a text to lines of one tone. The text is escaped.
pub(super) fn wrapped(tone: Tone, words: &str, columns: usize) -> Vec<Line> {
    let lines = text::wrap(words, columns.max(4));
    lines.iter().map(|line| Line::new().add(tone, line.trim_end())).collect()
}
