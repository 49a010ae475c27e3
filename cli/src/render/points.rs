//! Points of a job's log, for people: where it went back to or was forked from, and those that have
//! names.

use proto::view::JobView;

use crate::{
    look::Look,
    render::table::{plain, table},
};

/// The points that have names, oldest first.
pub(crate) fn list(look: &Look, view: &JobView) -> String {
    let heads = ["NAME", "RECORD", "SINCE"];
    let rows = view.snapshots.iter().map(|named| {
        vec![plain(named.name.as_str()), plain(named.seq.to_string()), plain(look.time(named.time))]
    });
    table(look, &heads, rows.collect(), "no snapshots")
}

/// All of them in a line; nothing when there are none.
pub(super) fn line(view: &JobView) -> String {
    let named = view.snapshots.iter().map(|one| format!("{} at record {}", one.name, one.seq));
    named.collect::<Vec<_>>().join(", ")
}

/// Where a fork began; nothing for any other job.
pub(super) fn origin(view: &JobView) -> String {
    view.forked
        .as_ref()
        .map(|from| format!("{} at record {}", from.job, from.seq))
        .unwrap_or_default()
}

/// How often it went back; nothing when it never did.
pub(super) fn generation(view: &JobView) -> String {
    if view.generation.is_first() {
        return String::new();
    }
    let number = view.generation.0;
    format!("{number}: a rollback or fork discarded the earlier decisions")
}
