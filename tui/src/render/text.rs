//! Text layout in terminal columns: a Chinese character occupies two. Characters are never split,
//! and lines never exceed the requested width.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the columns of a text.
#[must_use]
pub fn width(text: &str) -> usize {
    text.width()
}

/// Cuts a text to `columns`, with an ellipsis if it is longer.
#[must_use]
pub fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    if columns == 0 {
        return String::new();
    }
    format!("{}…", fit_hard(text, columns - 1))
}

/// Cuts a text to `columns` without an ellipsis.
#[must_use]
pub fn fit_hard(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > columns {
            return text.get(..at).unwrap_or_default();
        }
    }
    text
}

/// Wraps a text to `columns`; existing line ends are kept.
#[must_use]
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    textwrap::wrap(text, columns).into_iter().map(|line| line.into_owned()).collect()
}

/// Wraps a text and indents every line.
#[must_use]
pub fn indent(text: &str, by: usize, columns: usize) -> String {
    let space = " ".repeat(by);
    let lines = wrap(text, columns.saturating_sub(by));
    lines.iter().map(|line| format!("{space}{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_columns() {
        for (text, columns, cut) in [
            ("plain", 5, "plain"),
            ("plainly", 5, "plai…"),
            ("标记任务", 8, "标记任务"),
            ("标记任务", 7, "标记任…"),
            ("标记任务", 6, "标记…"),
            ("x", 0, ""),
        ] {
            assert_eq!(fit(text, columns), cut);
            assert!(width(&fit(text, columns)) <= columns);
        }
    }

    #[test]
    fn texts_are_wrapped_by_columns() {
        for columns in [2, 7, 20] {
            for text in ["先标记任务 ID:62 完成，创建发邮件任务", "words and some words", "a\nb"]
            {
                for line in wrap(text, columns) {
                    assert!(width(&line) <= columns, "{line} in {columns}");
                }
            }
        }
    }
}
