//! A line of coloured texts, cut to the width of the terminal.

use super::{
    style::{Style, Tone},
    text,
};

/// Largest width of a line without a terminal.
const COLUMNS_MAX: usize = 400;

/// The texts of one line, in order.
#[derive(Debug, Clone, Default)]
pub struct Line {
    pieces: Vec<(Tone, String)>,
}

impl Line {
    /// Creates a line without texts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text, which must be free of control characters and line ends.
    #[must_use]
    pub fn add(mut self, tone: Tone, text: impl Into<String>) -> Self {
        self.pieces.push((tone, text.into()));
        self
    }

    /// Adds the texts of another line.
    #[must_use]
    pub fn append(mut self, other: Self) -> Self {
        self.pieces.extend(other.pieces);
        self
    }

    /// Number of columns of the uncut line.
    #[must_use]
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|(_, t)| text::width(t)).sum()
    }

    /// Adds a text aligned to the right at `column`. Without space for the alignment the text
    /// follows directly; without any space it is omitted.
    #[must_use]
    pub fn add_right(self, tone: Tone, right: &str, column: usize, style: &Style) -> Self {
        let (left, right_width) = (self.width(), text::width(right));
        if right.is_empty() {
            return self;
        }
        let gap = column.saturating_sub(left + right_width).max(2);
        if style.width.is_some_and(|most| left + gap + right_width > most) {
            return self;
        }
        self.add(Tone::Plain, " ".repeat(gap)).add(tone, right)
    }

    /// Renders the line, cut to the width of the terminal.
    #[must_use]
    pub fn render(&self, style: &Style) -> String {
        let pieces = self.cut(style.width.unwrap_or(COLUMNS_MAX));
        let painted = pieces.iter().map(|(tone, piece)| style.paint(*tone, piece));
        painted.collect::<String>().trim_end().to_owned()
    }

    /// Returns the texts of the line, cut to `columns` with an ellipsis.
    #[must_use]
    pub fn cut(&self, columns: usize) -> Vec<(Tone, String)> {
        let mut room = columns;
        let mut out = Vec::new();
        let mut left = self.width();
        for (tone, piece) in &self.pieces {
            let wide = text::width(piece);
            // The last piece that fits must leave a column for the ellipsis if more follows.
            let fits = wide <= room && (left <= room || wide < room);
            if fits {
                out.push((*tone, piece.clone()));
                room -= wide;
                left -= wide;
            } else {
                let cut = text::fit_hard(piece, room.saturating_sub(1));
                out.push((*tone, format!("{cut}…")));
                break;
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_never_wider_than_the_screen() {
        for width in [1, 2, 5, 9, 10, 11, 30] {
            let style = Style::plain(Some(width));
            let line =
                Line::new().add(Tone::Good, "✓ ").add(Tone::Plain, "标记任务").add(Tone::Dim, "!");
            let shown = line.render(&style);
            assert!(text::width(&shown) <= width, "{shown:?} in {width}");
        }
        let style = Style::plain(Some(10));
        let line = Line::new().add(Tone::Good, "✓ ").add(Tone::Plain, "标记任务完成");
        assert_eq!(line.render(&style), "✓ 标记任…");
    }

    #[test]
    fn what_stands_at_the_right_goes_first() {
        let line = || Line::new().add(Tone::Plain, "left");
        let shown = |width| {
            line()
                .add_right(Tone::Dim, "1.2s", 12, &Style::plain(width))
                .render(&Style::plain(width))
        };
        assert_eq!(shown(None), "left    1.2s");
        assert_eq!(shown(Some(12)), "left    1.2s");
        assert_eq!(shown(Some(9)), "left");
    }
}
