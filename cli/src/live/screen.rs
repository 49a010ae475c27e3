//! Redrawing of lines in place: the previous lines are erased first, even after a resize of the
//! terminal. Independent of jobs.

use std::io::Write;

use crossterm::{
    QueueableCommand,
    cursor::{MoveToColumn, MoveUp},
    terminal::{BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate},
};

use crate::text;

/// A region of the terminal that is redrawn.
#[derive(Debug, Default)]
pub(crate) struct Screen {
    /// Widths of the displayed lines.
    drawn: Vec<usize>,
}

impl Screen {
    /// Replaces the displayed lines. `size` is columns and rows.
    ///
    /// # Errors
    /// If the terminal cannot be written to.
    pub(crate) fn draw(
        &mut self,
        out: &mut impl Write,
        lines: &[String],
        size: (usize, usize),
    ) -> std::io::Result<()> {
        let (columns, rows) = size;
        out.queue(BeginSynchronizedUpdate)?;
        self.erase(out, columns)?;
        let shown = clipped(lines, rows);
        for line in &shown {
            out.write_all(line.as_bytes())?;
            out.write_all(b"\r\n")?;
        }
        self.drawn = shown.iter().map(|line| visible(line)).collect();
        out.queue(EndSynchronizedUpdate)?;
        out.flush()
    }

    /// Keeps the displayed lines; the next drawing starts below them.
    pub(crate) fn leave(&mut self) {
        self.drawn.clear();
    }

    /// Erases the displayed lines.
    ///
    /// # Errors
    /// If the terminal cannot be written to.
    pub(crate) fn clear(&mut self, out: &mut impl Write, columns: usize) -> std::io::Result<()> {
        self.erase(out, columns)?;
        self.drawn.clear();
        out.flush()
    }

    fn erase(&self, out: &mut impl Write, columns: usize) -> std::io::Result<()> {
        // After a resize, a line may occupy several rows.
        let rows: usize = self.drawn.iter().map(|w| w.div_ceil(columns.max(1)).max(1)).sum();
        if rows > 0 {
            out.queue(MoveToColumn(0))?;
            out.queue(MoveUp(u16::try_from(rows).unwrap_or(u16::MAX)))?;
            out.queue(Clear(ClearType::FromCursorDown))?;
        }
        Ok(())
    }
}

/// Number of columns of a line, without colour codes.
fn visible(line: &str) -> usize {
    text::width(&anstream::adapter::strip_str(line).to_string())
}

/// Cuts lines to the terminal's rows, less one for the cursor. Keeps the first two, which identify
/// the job, and the last ones, which change.
fn clipped(lines: &[String], rows: usize) -> Vec<String> {
    const HEAD: usize = 2;
    let room = rows.saturating_sub(1).max(HEAD + 2);
    if lines.len() <= room {
        return lines.to_vec();
    }
    let left_out = lines.len() - (room - 1);
    let head = lines.iter().take(HEAD).cloned();
    let tail = lines.iter().skip(HEAD + left_out).cloned();
    head.chain([format!("  … +{left_out}")]).chain(tail).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(screen: &mut Screen, lines: &[&str], size: (usize, usize)) -> String {
        let lines: Vec<String> = lines.iter().map(|l| (*l).to_owned()).collect();
        let mut out = Vec::new();
        screen.draw(&mut out, &lines, size).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_was_drawn_before_is_taken_away_wholly() {
        let mut screen = Screen::default();
        let first = drawn(&mut screen, &["\u{1b}[1mone\u{1b}[0m", "标记任务"], (80, 24));
        assert!(!first.contains("\u{1b}[2A"), "{first:?}");
        assert!(drawn(&mut screen, &["a"], (80, 24)).contains("\u{1b}[2A"));
        let mut screen = Screen::default();
        drawn(&mut screen, &["123456789", "标记任务"], (80, 24));
        // The lines occupy three rows and two after the resize to four columns.
        assert!(drawn(&mut screen, &["a"], (4, 24)).contains("\u{1b}[5A"));
        screen.leave();
        assert!(!drawn(&mut screen, &["a"], (80, 24)).contains('A'));
    }

    #[test]
    fn a_tree_that_is_too_tall_keeps_its_head_and_its_end() {
        let lines: Vec<String> = (0..20).map(|n| format!("l{n}")).collect();
        let shown = clipped(&lines, 8);
        assert_eq!(shown.len(), 7);
        assert_eq!(shown[..3], ["l0", "l1", "  … +14"]);
        assert_eq!(shown[6], "l19");
        assert_eq!(clipped(&lines, 24).len(), 20);
    }
}
