//! The position at which a failed job failed.

use std::collections::BTreeSet;

use proto::{
    entry::Entry,
    id::{JobId, Seq, StepId},
    job::{FailReason, Outcome},
    step::StepState,
};

use super::{
    replay::{Replay, replay},
    state::{Job, Stage},
};

/// Returns the last position of a failed job's timeline at which its failure was not yet certain,
/// and the reason of the failure. `None` if the job did not fail.
///
/// A failure is certain as soon as planning failed or one of the steps that count as failed at the
/// end has failed, even if other work of the job continued.
#[must_use]
pub fn before_failure(job: &JobId, entries: &[Entry]) -> Option<(Seq, FailReason)> {
    let ended = replay(job, entries);
    let Some(Outcome::Failed { reason, .. }) = ended.outcome() else { return None };
    let failed = ended.failed_steps();
    let mut replay = Replay::of(job, entries);
    let mut open = BTreeSet::new();
    for entry in entries {
        replay.take(entry);
        if !replay.job().is_failing(&failed) {
            open.insert(entry.seq);
        }
    }
    let before = replay.timeline().seqs().iter().rev().find(|seq| open.contains(seq));
    before.map(|seq| (*seq, *reason))
}

impl Job {
    /// Returns the steps of the plan in force that have failed.
    fn failed_steps(&self) -> BTreeSet<StepId> {
        let steps = self.open.iter().flat_map(|open| open.execution.steps());
        let failed = steps.filter(|step| step.state == StepState::Failed);
        failed.map(|step| step.id().clone()).collect()
    }

    /// Returns `true` if the job cannot end well any more, given the steps that have failed in the
    /// end.
    fn is_failing(&self, failed: &BTreeSet<StepId>) -> bool {
        let Some(open) = &self.open else { return false };
        let has_stage_failed = match open.planning.stage() {
            Stage::Failing { .. } | Stage::Rejected { .. } => true,
            Stage::Plan { .. }
            | Stage::Clarify { .. }
            | Stage::Confused { .. }
            | Stage::Check { .. }
            | Stage::Execute => false,
        };
        open.outcome().is_some()
            || has_stage_failed
            || open.timers.has_deadline_passed()
            || self.failed_steps().iter().any(|step| failed.contains(step))
    }
}
