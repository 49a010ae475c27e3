//! Rendering of positions in a job's log: the target of a rollback, the origin of a fork,
//! snapshots.

use proto::view::JobView;

use crate::{
    render::table::{plain, table},
    style::Style,
    words::Text,
};

/// Renders the snapshots, oldest first.
pub(crate) fn list(style: &Style, view: &JobView) -> String {
    let rows = view.snapshots.iter().map(|named| {
        vec![
            plain(named.name.as_str()),
            plain(named.seq.to_string()),
            plain(style.time(named.time)),
        ]
    });
    table(style, Text::SnapshotsHeads, rows.collect(), Text::NoSnapshots)
}

/// Renders all snapshots in one line; empty without any.
pub(super) fn line(style: &Style, view: &JobView) -> String {
    let named = view.snapshots.iter();
    let named = named.map(|one| style.say(Text::SnapshotAt { name: &one.name, seq: &one.seq }));
    named.collect::<Vec<_>>().join(", ")
}

/// Names the origin of a fork; empty for other jobs.
pub(super) fn origin(style: &Style, view: &JobView) -> String {
    view.forked
        .as_ref()
        .map(|from| style.say(Text::SnapshotAt { name: &from.job, seq: &from.seq }))
        .unwrap_or_default()
}

/// Describes the number of rollbacks; empty without any.
pub(super) fn generation(style: &Style, view: &JobView) -> String {
    if view.generation.is_first() {
        return String::new();
    }
    style.say(Text::NewGeneration { number: &view.generation.0 })
}
