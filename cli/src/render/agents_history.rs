//! Rendering of the revisions of an agent.

use proto::{
    door::{AgentHistory, AgentRevision},
    escape,
};

use crate::{
    render::table::{Piece, plain, table},
    style::{Style, Tone},
    words::Text,
};

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
