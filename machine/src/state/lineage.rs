//! A job's generation, the job it was forked from, and its snapshots.

use proto::{
    id::{Generation, Seq, SnapshotName},
    limits,
    view::{Origin, Snapshot},
};

use crate::at::At;

/// The ancestry of a job's current state.
#[derive(Debug, Clone)]
pub(crate) struct Lineage {
    /// Number of rollbacks and forks so far; part of the names of units of work.
    generation: Generation,
    /// `true` once a decision of this generation is stored, and with it the job's deadline armed.
    has_decided: bool,
    snapshots: Vec<Snapshot>,
    origin: Option<Origin>,
}

impl Lineage {
    pub(super) fn new() -> Self {
        let generation = Generation::FIRST;
        Self { generation, has_decided: false, snapshots: Vec::new(), origin: None }
    }

    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }

    pub(crate) fn has_decided(&self) -> bool {
        self.has_decided
    }

    pub(crate) fn snapshots(&self) -> &[Snapshot] {
        &self.snapshots
    }

    pub(crate) fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// Records that a decision of this generation was stored.
    pub(crate) fn decided(&mut self) {
        self.has_decided = true;
    }

    /// Begins the next generation.
    pub(crate) fn begin(&mut self, generation: Generation) {
        (self.generation, self.has_decided) = (generation, false);
    }

    /// Records the source of a fork and drops the source's snapshots.
    pub(crate) fn fork_of(&mut self, origin: Origin) {
        self.snapshots.clear();
        self.origin = Some(origin);
    }

    /// Names the position of an earlier record, or that of the record at `at`, and returns `true`, or
    /// `false` if the job has too many snapshots. Reuse of a name moves it.
    pub(crate) fn name(&mut self, at: At, name: &SnapshotName, earlier: Option<Seq>) -> bool {
        self.snapshots.retain(|snapshot| snapshot.name != *name);
        let has_room = self.snapshots.len() < limits::SNAPSHOTS_MAX;
        if has_room {
            let seq = earlier.filter(|earlier| *earlier < at.seq).unwrap_or(at.seq);
            self.snapshots.push(Snapshot { name: name.clone(), seq, time: at.time });
        }
        has_room
    }
}
