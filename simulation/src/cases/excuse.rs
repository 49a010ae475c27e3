//! The excuse of a run with faults: the faults decided its end, as its agent permits. Faults that the
//! file scripts excuse nothing.

use std::collections::BTreeMap;

use proto::{
    entry::Entry,
    fact::{Called, Fact, PlanReply, TurnReply},
    id::{JobId, WorkId},
    job::JobState,
    tool::Fault,
    work_error::WorkError,
};

use super::{
    cast::Attempted,
    expect::{Excuse, root},
    stage::Played,
};

/// Returns the reason for which the faults of a run excuse its end.
pub(super) fn excuse(played: &Played) -> Option<Excuse> {
    let Some(evidence) = &played.evidence else { return Some(Excuse::Endless) };
    // Whether a fault of the world broke the attempt of each unit of work that reported last.
    let mut last: BTreeMap<(&JobId, WorkId), bool> = BTreeMap::new();
    for (job, entries) in &evidence.logs {
        for fact in entries.iter().flat_map(Entry::results) {
            let (work, is_broken) = match fact {
                Fact::Planned(planned) => {
                    let error = failure_of_plan(planned.reply);
                    (planned.work, error.is_some_and(|error| !played.scripts(&error)))
                }
                Fact::Turned(turned) => {
                    let error = failure_of_turn(turned.reply);
                    (turned.work, error.is_some_and(|error| !played.scripts(&error)))
                }
                Fact::Called(called) => {
                    let is_broken = called.fault.is_some() && !played.scripts_fault(job, &called);
                    if is_broken && called.fault == Some(Fault::Unknown) {
                        return Some(Excuse::Unknown);
                    }
                    (called.work, is_broken)
                }
                Fact::Submitted(_)
                | Fact::Signaled(_)
                | Fact::Started(_)
                | Fact::Answered(_)
                | Fact::Child(_)
                | Fact::Fired(_) => continue,
            };
            last.insert((job, work), is_broken);
        }
    }
    let has_failed = root(&evidence.logs).is_some_and(|(_, view)| view.state == JobState::Failed);
    (has_failed && last.values().any(|is_broken| *is_broken)).then_some(Excuse::Attempts)
}

fn failure_of_plan(reply: PlanReply) -> Option<WorkError> {
    if let PlanReply::Failed { error } = reply { Some(error) } else { None }
}

fn failure_of_turn(reply: TurnReply) -> Option<WorkError> {
    if let TurnReply::Failed { error } = reply { Some(error) } else { None }
}

impl Played {
    /// Returns whether the script of the model has an error.
    fn scripts(&self, error: &WorkError) -> bool {
        self.scripted.errors.iter().any(|scripted| error.message.contains(scripted))
    }

    /// Returns whether the file scripts the fault of a call.
    fn scripts_fault(&self, job: &JobId, called: &Called) -> bool {
        let attempted: Attempted = (job.clone(), called.work.clone(), called.attempt);
        self.scripted.faults.contains(&attempted)
    }
}
