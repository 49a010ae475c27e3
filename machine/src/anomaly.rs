//! The rules against loops that lead nowhere. What is seen of them is a matter of the records alone. It
//! takes effect only through decisions that are stored (a command that says that the model must answer,
//! or the note that a run was stopped), so that a log written before a guard was there folds as it did.

use jiff::Timestamp;
use proto::{
    id::WorkId, job::FailReason, notice::Notice, plan::Action, rules::Rules, step::StepState,
};
use serde_json::Value;

use super::{
    attempts::Attempts,
    loops::{Came, Ended, signature},
    state::Open,
    step::{Exec, StepRun},
};

impl Open {
    /// The notice that stops planning: the last plans have led nowhere.
    pub(super) fn stalled_plans(&self) -> Option<Notice> {
        let ended = ended_steps(self.execution.steps(), self.brief.rules);
        self.planning.stalled(&ended, &self.brief.agent.guard)
    }

    /// It was stored that a guard ended something. What the note is about may have gone another way
    /// between the moment it was decided and the moment it was stored: then it says nothing.
    pub(super) fn stopped(&mut self, at: Timestamp, work: &WorkId, notice: &Notice) {
        let language = self.brief.language;
        if *work == self.planning.next_work(self.generation()) && self.wants_replan() {
            return self.planning.fail(FailReason::NoProgress, notice.text(language));
        }
        for step in self.execution.steps_mut() {
            let Exec::Turn(turn) = &step.exec else { continue };
            if turn.work == *work && turn.attempts == Attempts::Idle {
                let run = turn.run;
                step.stop(notice.clone(), run, notice.text(language), &self.brief.agent, at);
            }
        }
    }
}

/// The steps of a plan that have ended, as guards look at them.
pub(super) fn ended_steps(steps: &[StepRun], rules: Rules) -> Vec<Ended<'_>> {
    steps.iter().filter_map(|step| ended(step, rules)).collect()
}

/// A step that has ended, as a call. By the first rules tasks with the same result were the same.
fn ended(step: &StepRun, rules: Rules) -> Option<Ended<'_>> {
    let came = match step.state {
        // A loop that did not reach its goal has come to nothing new.
        StepState::Completed if step.unsuccessful => Came::Neither,
        StepState::Completed => {
            Came::Result(signature("", step.result.as_ref().unwrap_or(&Value::Null)))
        }
        // A loop that failed is no tool that could be used differently.
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
        // Another task that was carried out is a step further, whatever its words of it are.
        Action::Agent => {
            let name = step.step.label();
            let came = match came {
                Came::Result(result) if rules >= Rules::SECOND => {
                    let done = serde_json::json!([step.step.description, result]);
                    Came::Result(signature(name, &done))
                }
                came @ (Came::Result(_) | Came::Failure | Came::Neither) => came,
            };
            Ended { call: None, name, came }
        }
    })
}
