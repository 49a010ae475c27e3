//! The fold of commands: each begins an attempt at a unit of work.

use proto::{
    budget::Spend,
    decision::{CallWork, PlanWork, SpawnWork, TurnWork},
    id::{Attempt, JobId, WorkId},
};

use super::{
    at::At,
    state::{ActiveJob, Stage},
    step::Exec,
};

impl ActiveJob {
    /// Applies a stored command to plan and returns `true` if it can follow. The first command of
    /// the next round ends the plan in force.
    pub(super) fn sent_plan(&mut self, at: At, work: &PlanWork) -> bool {
        if work.work == self.planning.next_work(self.generation()) {
            if matches!(self.planning.stage(), Stage::Failing { .. }) {
                // A question expired between the decision and its write: the job fails whatever the
                // planner replies.
                return true;
            }
            let Some(cause) = self.replan_cause() else { return false };
            self.replan(at.time, cause);
        }
        let sent =
            self.planning.attempts_mut().is_some_and(|attempts| attempts.sent(work.attempt, at));
        if sent && work.attempt == Attempt::FIRST && self.planning.rejected() == 0 {
            self.spending.count(self.round_kind());
        }
        if sent {
            self.heard_by_plan(work);
        }
        sent
    }

    pub(super) fn sent_turn(&mut self, at: At, work: &TurnWork) -> bool {
        let mut told = 0;
        let sent = self.execution.steps_mut().iter_mut().any(|step| {
            let Exec::Turn(turn) = &mut step.exec else { return false };
            let sent = turn.work == work.work && turn.attempts.sent(work.attempt, at);
            if sent {
                turn.must_answer = work.must_answer;
                (told, turn.carries) = (turn.told, work.instructions.len());
                let again = turn.was_begun(work.attempt);
                step.begun(at.time, &mut self.spending, Spend::Turn, again);
            }
            sent
        });
        if sent {
            // The instructions that earlier turns of the run carried, and those of this turn.
            self.steering.heard(told.saturating_add(work.instructions.len()));
        }
        sent
    }

    pub(super) fn sent_call(&mut self, at: At, job: &JobId, work: &CallWork) -> bool {
        let sent = self.sent_unit(at, &work.work, work.attempt, Some(&work.idempotency_key));
        let remembered = work.remembered.as_ref().filter(|ask| self.approvals.has(ask));
        if let Some((call, _)) = self.execution.call_mut(|call| call.work == work.work) {
            // The registry knows what a tool reads, also where the plan is older than the mark.
            call.binding.untrusted |= work.untrusted;
            match remembered {
                Some(ask) => call.approve_as_remembered(job, ask),
                None => call.remembered = None,
            }
            if let Some(error) = work.refused.as_ref().filter(|_| sent) {
                call.broke(error.clone(), at.time);
            }
        }
        sent
    }

    pub(super) fn sent_spawn(&mut self, at: At, job: &JobId, work: &SpawnWork) -> bool {
        self.family.spawned(work, self.lineage.generation());
        let remembered = work.remembered.as_ref().filter(|ask| self.approvals.has(ask));
        if let Some((call, _)) = self.execution.call_mut(|call| call.work == work.work) {
            call.asks_below = false;
            match remembered {
                Some(ask) => call.approve_as_remembered(job, ask),
                None => call.remembered = None,
            }
        }
        self.sent_unit(at, &work.work, work.attempt, None)
    }

    fn sent_unit(&mut self, at: At, work: &WorkId, attempt: Attempt, key: Option<&str>) -> bool {
        self.execution.steps_mut().iter_mut().any(|step| {
            let sent = step
                .call_mut(|call| call.work == *work)
                .is_some_and(|(call, _)| call.sent(attempt, at, key));
            if sent {
                step.begun(at.time, &mut self.spending, Spend::Tool, attempt != Attempt::FIRST);
            }
            sent
        })
    }
}
