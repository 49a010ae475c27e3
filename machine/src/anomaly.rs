//! The effect of loop guards. What the guards observe is derived from the records alone. It takes
//! effect only through stored decisions (a command that requires an answer, or the note that a run
//! was stopped), so that a log written before a guard existed folds as it did then.

use jiff::Timestamp;
use proto::{id::WorkId, job::FailReason, notice::Notice, plan::Action, step::StepState};
use serde_json::Value;

use super::{
    loops::{Came, Ended, signature},
    state::ActiveJob,
    step::{Exec, StepRun},
};

impl ActiveJob {
    /// Returns the notice that stops planning, if the last plans made no progress.
    pub(super) fn stalled_plans(&self) -> Option<Notice> {
        let ended = ended_steps(self.execution.steps());
        self.planning.stalled(&ended, &self.brief.agent.guard)
    }

    /// Returns the notices in force: those of the planner while it plans, those of unfinished steps,
    /// and the limits of the budget that are nearly used up.
    pub(super) fn notices(&self, age_ms: u64) -> Vec<Notice> {
        if self.outcome().is_some() {
            return Vec::new();
        }
        let plans = self.planning.stage().attempts().is_some();
        let of_planner = if plans { self.planning.notices() } else { &[] };
        let unfinished = self.execution.steps().iter().filter(|step| !step.state.is_terminal());
        let of_steps = unfinished.flat_map(|step| &step.notices);
        let told = of_planner.iter().chain(of_steps).cloned();
        told.chain(self.budget_notices(age_ms)).collect()
    }

    /// Applies the stored note that a guard stopped a run or planning. If the work has moved on
    /// between the decision and its write, the note has no effect.
    pub(super) fn stopped(&mut self, at: Timestamp, work: &WorkId, notice: &Notice) {
        let language = self.language();
        if *work == self.planning.next_work(self.generation()) && self.wants_replan() {
            return self.planning.fail(FailReason::NoProgress, notice.text(language));
        }
        for step in self.execution.steps_mut() {
            let Exec::Turn(turn) = &step.exec else { continue };
            if turn.work == *work && turn.attempts.is_idle() {
                let run = turn.run;
                step.stop(notice.clone(), run, notice.text(language), &self.brief.agent, at);
            }
        }
    }
}

/// Returns the ended steps of a plan as the loop guard sees them.
pub(super) fn ended_steps(steps: &[StepRun]) -> Vec<Ended<'_>> {
    steps.iter().filter_map(ended).collect()
}

/// Returns an ended step as a call.
fn ended(step: &StepRun) -> Option<Ended<'_>> {
    let came = match step.state {
        // An agent that did not reach its purpose contributes nothing new.
        StepState::Completed if step.unsuccessful => Came::Neither,
        StepState::Completed => {
            Came::Result(signature("", step.result.as_ref().unwrap_or(&Value::Null)))
        }
        // A failed agent step is not a tool that could be called differently.
        StepState::Failed if matches!(step.step.action, Action::Agent) => Came::Neither,
        StepState::Failed => Came::Failure,
        StepState::Pending
        | StepState::Ready
        | StepState::Running
        | StepState::Waiting
        | StepState::Blocked
        | StepState::Skipped
        | StepState::Canceled => return None,
    };
    Some(match &step.step.action {
        Action::Tool { tool, args, .. } => {
            Ended { call: Some(signature(tool.as_str(), args)), name: tool.as_str(), came }
        }
        // A different task that was carried out is progress, even if its result reads the same.
        Action::Agent => {
            let name = step.step.label();
            let came = match came {
                Came::Result(result) => {
                    let done = serde_json::json!([step.step.description, result]);
                    Came::Result(signature(name, &done))
                }
                came @ (Came::Failure | Came::Neither) => came,
            };
            Ended { call: None, name, came }
        }
    })
}
