//! Rendering of the revisions of an agent, and of the difference between two texts.

use proto::{
    door::{AgentHistory, AgentRevision},
    escape,
    id::AgentName,
};
use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use crate::{
    render::{
        line::Line,
        table::{Piece, plain, table},
    },
    style::{Style, Tone},
    words::Text,
};

/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// A text with its name.
#[derive(Debug, Serialize)]
pub(crate) struct Named {
    /// Revision, or place, of the text.
    pub(crate) name: String,
    /// The text; empty where there is no agent.
    pub(crate) text: String,
}

/// Two texts of an agent.
#[derive(Debug, Serialize)]
pub(crate) struct Compared {
    /// The first text.
    pub(crate) from: Named,
    /// The second text.
    pub(crate) to: Named,
}

/// Renders the revisions, newest first.
pub(crate) fn log(style: &Style, history: &AgentHistory) -> String {
    let rows = history.revisions.iter().map(|one| row(style, history, one)).collect();
    let name = &history.name;
    table(style, Text::AgentRevisionsHeads, rows, Text::NoAgentRevisions { name })
}

fn row(style: &Style, history: &AgentHistory, one: &AgentRevision) -> Vec<Piece> {
    let unknown = || "–".to_owned();
    let change = match one.dropped {
        true => (Tone::Bad, style.say(Text::RevisionDropped)),
        false if history.current == Some(one.revision) => {
            (Tone::Good, style.say(Text::RevisionCurrent))
        }
        false => plain(style.say(Text::RevisionStored)),
    };
    let by = one.by.as_deref().map_or_else(unknown, |by| escape::line(by).into_owned());
    vec![
        plain(one.revision.to_string()),
        plain(one.time.map_or_else(unknown, |time| style.time(time))),
        plain(by),
        change,
    ]
}

/// Renders the difference as a unified diff.
pub(crate) fn diff(style: &Style, compared: &Compared, name: &AgentName) -> String {
    let Compared { from, to } = compared;
    let mut out = String::new();
    let mut line = |tone, text: &str| {
        out.push_str(&format!("{}\n", Line::new().add(tone, escape::line(text)).render(style)));
    };
    let diff = TextDiff::from_lines(&from.text, &to.text);
    let groups = diff.grouped_ops(CONTEXT);
    if groups.is_empty() {
        line(Tone::Dim, &style.say(Text::AgentSame { name }));
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
        diff(&Style::plain(None), &compared, &AgentName::new("mine").unwrap())
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
