//! Rendering of dead letters: jobs and units of work that wait for an operator.

use proto::{
    door::{DeadKind, DeadLetter, DeadLetters},
    escape,
};

use crate::{
    render::table::{Piece, note, plain, table},
    style::{Style, Tone},
    words::Text,
};

/// Renders the list, with a note if jobs were not examined.
pub(crate) fn list(style: &Style, found: &DeadLetters) -> String {
    let mut out = rows(style, &found.letters);
    if found.more {
        out.push_str(&note(style, &style.say(Text::MoreDeadLetters)));
    }
    out
}

/// Renders one row per dead letter.
pub(crate) fn rows(style: &Style, letters: &[DeadLetter]) -> String {
    let rows = letters.iter().map(|letter| row(style, letter)).collect();
    table(style, Text::DeadHeads, rows, Text::NoDeadLetters)
}

fn row(style: &Style, letter: &DeadLetter) -> Vec<Piece> {
    let why = match letter.kind {
        DeadKind::Unreadable => Text::Unreadable,
        DeadKind::Broken => Text::Broken,
        DeadKind::GivenUp => Text::GivenUp,
    };
    let work = match (&letter.work, letter.attempt) {
        (Some(work), Some(attempt)) => format!("{work} #{attempt}"),
        (Some(work), None) => work.to_string(),
        (None, _) => String::new(),
    };
    vec![
        plain(letter.job.as_str()),
        (Tone::Bad, style.say(why)),
        plain(letter.seq.to_string()),
        plain(style.time(letter.since)),
        plain(work),
        plain(escape::line(&letter.reason)),
    ]
}
