//! Replanning: when the plan in force is replaced, and which of its steps stay.

use std::collections::BTreeSet;

use jiff::Timestamp;
use proto::{
    agent::{OnFailure, ReplanWhen},
    decision::{PlanTalk, PlanWork},
    id::WorkId,
    plan::Action,
    revision::Cause,
    step::StepState,
};

use super::{
    anomaly::ended_steps,
    names,
    state::ActiveJob,
    step::{Exec, StepRun},
    turn::UnitKind,
};

impl ActiveJob {
    /// Returns `true` if the job replans now. The command to plan ends the plan in force, not the
    /// fact that causes replanning: a command of that plan may have been decided before the fact
    /// was known and stored after it, and must still be able to follow.
    pub(super) fn wants_replan(&self) -> bool {
        self.replan_cause().is_some()
    }

    /// Returns the cause for which the job replans now. Running steps finish before that; after a
    /// failed step, only commands that are out do.
    pub(super) fn replan_cause(&self) -> Option<Cause> {
        if self.has_work_out() {
            return None;
        }
        let cause = self.replan_wish()?;
        let is_begun = |run: &StepRun| run.started.is_some() && !run.state.is_terminal();
        match cause {
            Cause::Failed | Cause::Turn => Some(cause),
            Cause::Listed | Cause::Completed | Cause::Steered => {
                (!self.execution.steps().iter().any(is_begun)).then_some(cause)
            }
        }
    }

    /// Returns the cause for which the job will replan as soon as it can. Until then no step of the
    /// plan starts.
    pub(super) fn replan_wish(&self) -> Option<Cause> {
        // The planner has declared the goal reached and is not consulted again. A workflow has none.
        let is_over = self.planning.answer().is_some() || self.has_workflow();
        if !self.planning.is_executing() || is_over {
            return None;
        }
        let when = self.brief.agent.replan_when();
        let turn_by_turn = matches!(when, ReplanWhen::EveryTurn | ReplanWhen::AfterEachItem);
        if self.execution.first_failed().is_some() {
            match self.brief.agent.step.on_failure {
                OnFailure::Replan if turn_by_turn => return Some(Cause::Turn),
                OnFailure::Replan => return self.replan_left().then_some(Cause::Failed),
                OnFailure::Stop | OnFailure::FailRun => return None,
                OnFailure::Continue => {}
            }
        }
        let cause = match when {
            ReplanWhen::EveryTurn | ReplanWhen::AfterEachItem => {
                let over = self.execution.are_all_over();
                return (over && !self.execution.steps().is_empty()).then_some(Cause::Turn);
            }
            ReplanWhen::Never | ReplanWhen::OnFailure => None,
            ReplanWhen::AfterListed => {
                let listed = self.brief.agent.replan.listed;
                self.execution.listed_completed(listed).then_some(Cause::Listed)
            }
            ReplanWhen::AfterEachStep => {
                let completed = |run: &StepRun| run.state == StepState::Completed;
                self.execution.planned().any(completed).then_some(Cause::Completed)
            }
        };
        let may = self.brief.agent.replan.max > 0;
        let is_free = |cause: &Cause| *cause == Cause::Steered && may;
        let cause = cause.filter(|_| self.replan_left());
        cause
            .or_else(|| self.is_unheard().then_some(Cause::Steered))
            .filter(|cause| is_free(cause) || self.replan_left())
    }

    fn replan_left(&self) -> bool {
        self.execution.replans() < self.brief.agent.replan.max
    }

    /// Returns `true` if no stored command carries the last instruction and no step of the plan in
    /// force can still receive it.
    fn is_unheard(&self) -> bool {
        let may_hear =
            |run: &StepRun| !run.state.is_terminal() && matches!(run.step.action, Action::Agent);
        self.steering.is_unheard()
            && self.brief.agent.has_planner()
            && self.brief.agent.replan.when != Some(ReplanWhen::Never)
            && !self.execution.steps().iter().any(may_hear)
    }

    /// Ends the plan in force and begins a round of planning. Completed steps keep their results.
    pub(super) fn replan(&mut self, at: Timestamp, cause: Cause) {
        let agent = &self.brief.agent;
        let apply = agent.replan.apply;
        let steps = self.execution.steps().iter().filter(|run| run.stays(apply));
        let stay: BTreeSet<_> = steps.flat_map(questions_of).collect();
        self.timers.orphan(self.questions.supersede(at, |work| stay.contains(work)));
        let ended = ended_steps(self.execution.steps());
        self.planning.plan_is_over(&ended, &agent.guard);
        let ended = self.execution.end_plan(at, cause, apply, &agent.observe);
        self.timers.orphan(ended.orphans);
        let (plan, steps, kept) = (ended.plan, ended.steps, ended.kept);
        self.planning.say(PlanTalk::Progressed { plan, steps, kept, because: cause });
        let counts = match cause {
            // A user's instruction does not use up the job's own replans.
            Cause::Turn | Cause::Steered => false,
            Cause::Failed | Cause::Listed | Cause::Completed => true,
        };
        if counts {
            self.execution.count_replan();
        }
        self.planning.accept();
        self.planning.next_round();
    }

    /// Records an instruction of a user.
    pub(super) fn steered(&mut self, words: &str) {
        self.steering.instruct(words);
        self.planning.say(PlanTalk::Steered { words: words.to_owned() });
    }

    /// Records that a stored command to plan carries the instructions in its dialogue.
    pub(super) fn heard_by_plan(&mut self, work: &PlanWork) {
        let told = |talk: &&PlanTalk| matches!(talk, PlanTalk::Steered { .. });
        self.steering.heard(work.dialogue.iter().filter(told).count());
    }
}

/// Returns the units of work of a step's possible questions.
fn questions_of(run: &StepRun) -> Vec<WorkId> {
    match &run.exec {
        Exec::Tool(call) => vec![names::approval(&call.work)],
        Exec::Acting(acting) => acting
            .units
            .iter()
            .filter_map(|unit| match &unit.kind {
                UnitKind::Tool(call) => Some(names::approval(&call.work)),
                UnitKind::Person { work, .. } => Some(work.clone()),
                UnitKind::Noted(_) | UnitKind::Refused(_) => None,
            })
            .collect(),
        Exec::NotBegun
        | Exec::Turn(_)
        | Exec::Rerun(_)
        | Exec::Asked(_)
        | Exec::Sleep(_)
        | Exec::Ended => Vec::new(),
    }
}
