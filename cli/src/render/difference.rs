//! Rendering of the difference between two texts.

use std::fmt::Display;

use proto::escape;
use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use crate::{
    render::line::Line,
    style::{Style, Tone},
    words::Text,
};

/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// A text with its name.
#[derive(Debug, Serialize)]
pub(crate) struct Named {
    /// Revision, version or place of the text.
    pub(crate) name: String,
    /// The text; empty where nothing is stored.
    pub(crate) text: String,
}

/// Two texts of one thing.
#[derive(Debug, Serialize)]
pub(crate) struct Compared {
    /// The first text.
    pub(crate) from: Named,
    /// The second text.
    pub(crate) to: Named,
}

/// Renders the difference as a unified diff. `name` is that of the thing with the texts.
pub(crate) fn diff(style: &Style, compared: &Compared, name: &dyn Display) -> String {
    let Compared { from, to } = compared;
    let mut out = String::new();
    let mut line = |tone, text: &str| {
        out.push_str(&format!("{}\n", Line::new().add(tone, escape::line(text)).render(style)));
    };
    let diff = TextDiff::from_lines(&from.text, &to.text);
    let groups = diff.grouped_ops(CONTEXT);
    if groups.is_empty() {
        line(Tone::Dim, &style.say(Text::Unchanged { name }));
        return out;
    }
    line(Tone::Bad, &format!("--- {}", from.name));
    line(Tone::Good, &format!("+++ {}", to.name));
    for (number, group) in groups.iter().enumerate() {
        if number > 0 {
            line(Tone::Dim, "…");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let tone = match change.tag() {
                ChangeTag::Delete => Tone::Bad,
                ChangeTag::Insert => Tone::Good,
                ChangeTag::Equal => Tone::Plain,
            };
            let text = change.value().trim_end_matches(['\n', '\r']);
            line(tone, &format!("{}{text}", change.tag()));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(from: &str, to: &str) -> String {
        let side = |name: &str, text: &str| Named { name: name.to_owned(), text: text.to_owned() };
        let compared = Compared { from: side("a", from), to: side("b", to) };
        diff(&Style::plain(None), &compared, &"mine")
    }

    #[test]
    fn a_difference_shows_the_changed_lines_with_what_is_around_them() {
        let from = "a: 1\nb: 1\nc: 1\nd: 1\ne: 1\nf: 1\n";
        let to = from.replace("e: 1", "e: 2\u{1b}[31m");
        assert_eq!(
            compared(from, &to),
            "--- a\n+++ b\n b: 1\n c: 1\n d: 1\n-e: 1\n+e: 2\\u{1b}[31m\n f: 1\n"
        );
        assert_eq!(compared(from, from), "mine is unchanged\n");
        assert_eq!(compared("", "a: 1\n"), "--- a\n+++ b\n+a: 1\n");
    }
}
