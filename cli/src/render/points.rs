//! Rendering of positions in a job's log: the target of a rollback, the origin of a fork,
//! snapshots.

use proto::view::JobView;

use crate::{
    render::table::{plain, table},
    style::Style,
};

/// Renders the snapshots, oldest first.
pub(crate) fn list(style: &Style, view: &JobView) -> String {
    let heads = ["NAME", "RECORD", "SINCE"];
    let rows = view.snapshots.iter().map(|named| {
        vec![
            plain(named.name.as_str()),
            plain(named.seq.to_string()),
            plain(style.time(named.time)),
        ]
    });
    table(style, &heads, rows.collect(), "no snapshots")
}

/// Renders all snapshots in one line; empty without any.
pub(super) fn line(view: &JobView) -> String {
    let named = view.snapshots.iter().map(|one| format!("{} at record {}", one.name, one.seq));
    named.collect::<Vec<_>>().join(", ")
}

/// Names the origin of a fork; empty for other jobs.
pub(super) fn origin(view: &JobView) -> String {
    view.forked
        .as_ref()
        .map(|from| format!("{} at record {}", from.job, from.seq))
        .unwrap_or_default()
}

/// Describes the number of rollbacks; empty without any.
pub(super) fn generation(view: &JobView) -> String {
    if view.generation.is_first() {
        return String::new();
    }
    let number = view.generation.0;
    format!("{number}: a rollback or fork discarded the earlier decisions")
}
