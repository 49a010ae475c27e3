//! Tables, as text for a terminal or as Markdown.

use std::fmt::{self, Write};

/// A table with a title and notes.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// The line above the table.
    pub(crate) title: String,
    /// The names of the columns. The first column is aligned to the left, all others to the right.
    pub(crate) columns: Vec<String>,
    /// The rows, each with one cell per column.
    pub(crate) rows: Vec<Vec<String>>,
    /// The lines below the table.
    pub(crate) notes: Vec<String>,
}

/// The format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Aligned columns, for a terminal.
    Text,
    /// Markdown, for a document.
    Markdown,
}

impl Table {
    /// Creates an empty table.
    pub(crate) fn new(title: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        Self { title: title.into(), columns, ..Self::default() }
    }

    /// Formats the table.
    pub(crate) fn write(&self, style: Style) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = match style {
            Style::Text => self.text(&mut out),
            Style::Markdown => self.markdown(&mut out),
        };
        out
    }

    fn text(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "{}", self.title)?;
        let rows = || std::iter::once(&self.columns).chain(&self.rows);
        let width =
            |n| rows().filter_map(|row| row.get(n)).map(|c: &String| c.chars().count()).max();
        let widths: Vec<usize> = (0..self.columns.len()).filter_map(width).collect();
        for row in rows() {
            let mut line = String::from("  ");
            for (n, (cell, width)) in row.iter().zip(&widths).enumerate() {
                match n {
                    0 => write!(line, "{cell:<width$}")?,
                    _ => write!(line, "  {cell:>width$}")?,
                }
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        self.notes.iter().try_for_each(|note| writeln!(out, "  {note}"))
    }

    fn markdown(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "**{}**\n", self.title)?;
        writeln!(out, "| {} |", self.columns.join(" | "))?;
        let line = |n| if n == 0 { "---" } else { "---:" };
        let lines: Vec<_> = (0..self.columns.len()).map(line).collect();
        writeln!(out, "| {} |", lines.join(" | "))?;
        self.rows.iter().try_for_each(|row| writeln!(out, "| {} |", row.join(" | ")))?;
        if !self.notes.is_empty() {
            writeln!(out)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(out, "{note}\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("Speed", &["setup", "jobs/s"]);
        table.rows.push(vec!["R1".to_owned(), "7".to_owned()]);
        table.notes.push("quiet".to_owned());
        table
    }

    #[test]
    fn a_table_is_aligned_on_a_terminal() {
        let text = "Speed\n  setup  jobs/s\n  R1          7\n  quiet\n";
        assert_eq!(table().write(Style::Text), text);
    }

    #[test]
    fn a_table_is_one_on_a_page() {
        let page = "**Speed**\n\n| setup | jobs/s |\n| --- | ---: |\n| R1 | 7 |\n\nquiet\n\n";
        assert_eq!(table().write(Style::Markdown), page);
    }
}
