//! When the plan in force makes way for another one, what of it stays, and how it all came about.

use std::collections::BTreeSet;

use jiff::Timestamp;
use proto::{
    agent::{Listed, OnFailure, ReplanApply, ReplanWhen},
    decision::{PlanTalk, PlanWork, TurnWork},
    id::StepId,
    plan::{Action, Plan},
    revision::{Cause, Change, Instruction, Line, Revision},
    rules::Rules,
    step::StepState,
};

use super::{
    names,
    state::{AskState, Open, Stage},
    step::{Exec, StepRun},
    turn::UnitKind,
};

/// A plan that has been in force.
#[derive(Debug, Clone)]
pub(super) struct Force {
    title: String,
    cause: Option<Cause>,
}

impl Open {
    /// Whether the plan is made anew now. The decision to plan is what ends the plan in force, not
    /// the fact that leads to it: a command of that plan may have been decided before the fact was
    /// known and be stored after it, and then it must still be able to follow.
    pub(super) fn wants_replan(&self) -> bool {
        self.replan_cause().is_some()
    }

    /// Why the plan is made anew now. What was begun ends before, unless a step has failed: then only
    /// what workers have in hand does.
    pub(super) fn replan_cause(&self) -> Option<Cause> {
        if self.has_work_out() {
            return None;
        }
        let cause = self.replan_wish()?;
        let is_begun = |run: &StepRun| run.started.is_some() && !run.state.is_terminal();
        match cause {
            Cause::Failed | Cause::Turn => Some(cause),
            Cause::Listed | Cause::Completed | Cause::Steered => {
                (!self.steps.iter().any(is_begun)).then_some(cause)
            }
        }
    }

    /// Why nothing new of the plan in force is begun: it will be made anew as soon as it can be.
    pub(super) fn replan_wish(&self) -> Option<Cause> {
        // A planner that said that the goal is reached is not asked again.
        if !matches!(self.stage, Stage::Execute) || self.answer.is_some() {
            return None;
        }
        let when = self.agent.replan_when();
        let turn_by_turn = matches!(when, ReplanWhen::EveryTurn | ReplanWhen::AfterEachItem);
        if self.first_failed().is_some() {
            match self.agent.step.on_failure {
                OnFailure::Replan if turn_by_turn => return Some(Cause::Turn),
                OnFailure::Replan => return self.replan_left().then_some(Cause::Failed),
                OnFailure::Stop | OnFailure::FailRun => return None,
                OnFailure::Continue => {}
            }
        }
        let cause = match when {
            ReplanWhen::EveryTurn | ReplanWhen::AfterEachItem => {
                let over = self.steps.iter().all(|run| run.state.is_terminal());
                return (over && !self.steps.is_empty()).then_some(Cause::Turn);
            }
            ReplanWhen::Never | ReplanWhen::OnFailure => None,
            ReplanWhen::AfterListed => self.listed_completed().then_some(Cause::Listed),
            ReplanWhen::AfterEachStep => {
                let completed = |run: &StepRun| run.state == StepState::Completed;
                self.steps.iter().any(completed).then_some(Cause::Completed)
            }
        };
        let may = self.rules >= Rules::SECOND && self.agent.replan.max > 0;
        let is_free = |cause: &Cause| *cause == Cause::Steered && may;
        let cause = cause.filter(|_| self.replan_left());
        cause
            .or_else(|| self.is_unheard().then_some(Cause::Steered))
            .filter(|cause| is_free(cause) || self.replan_left())
    }

    fn replan_left(&self) -> bool {
        self.replans < self.agent.replan.max
    }

    fn listed_completed(&self) -> bool {
        let completed = |id: &StepId| {
            let done = |run: &&StepRun| run.state == StepState::Completed;
            self.steps.iter().filter(done).any(|run| run.id() == id)
        };
        match self.agent.replan.listed {
            Listed::Each => self.listed.iter().any(completed),
            Listed::All => !self.listed.is_empty() && self.listed.iter().all(completed),
        }
    }

    /// Whether a person told the job something that nothing of the plan in force will hear.
    fn is_unheard(&self) -> bool {
        let may_hear =
            |run: &StepRun| !run.state.is_terminal() && matches!(run.step.action, Action::Agent);
        self.instructions.len() > self.heard
            && self.agent.has_planner()
            && self.agent.replan.when != Some(ReplanWhen::Never)
            && !self.steps.iter().any(may_hear)
    }

    /// Ends the plan in force and has its rest made anew; what has completed stays.
    pub(super) fn replan(&mut self, at: Timestamp, cause: Cause) {
        let apply = self.agent.replan.apply;
        let stays = |run: &StepRun| apply == ReplanApply::Append && !run.state.is_terminal();
        self.close_questions_of_plan(&stays);
        self.watch_plan();
        let plan = self.plan_in_force();
        let (mut ended, mut kept) = (Vec::new(), Vec::new());
        for mut step in std::mem::take(&mut self.steps) {
            if stays(&step) {
                kept.push(step);
                continue;
            }
            if step.state.is_terminal() {
                ended.push(step.as_end(&self.agent.observe));
            } else {
                self.orphans.extend(step.tries_mut().iter().filter_map(|t| t.timer().cloned()));
                step.end(StepState::Skipped, None, at);
            }
            let gone = step.state != StepState::Completed || apply == ReplanApply::ReplaceAll;
            step.left = gone.then_some(self.revision);
            self.past.push(step);
        }
        if apply == ReplanApply::ReplaceAll {
            let revision = self.revision;
            self.past.iter_mut().for_each(|run| run.left = run.left.or(Some(revision)));
        }
        let ids = kept.iter().map(|run| run.id().clone()).collect();
        self.steps = kept;
        self.listed.retain(|id| self.steps.iter().any(|run| run.id() == id));
        self.dialogue.push(PlanTalk::Progressed { plan, steps: ended, kept: ids, because: cause });
        self.cause = Some(cause);
        let counts = match cause {
            Cause::Turn => false,
            // What people say costs none of what the job may do by itself.
            Cause::Steered => self.rules < Rules::SECOND,
            Cause::Failed | Cause::Listed | Cause::Completed => true,
        };
        if counts {
            self.replans = self.replans.saturating_add(1);
        }
        self.rejected = 0;
        self.next_round();
    }

    /// Closes questions of steps that go.
    fn close_questions_of_plan(&mut self, stays: &impl Fn(&StepRun) -> bool) {
        let wanted: BTreeSet<_> =
            self.steps.iter().filter(|run| stays(run)).flat_map(questions_of).collect();
        for asking in self.questions.values_mut() {
            if asking.state == AskState::Open && !wanted.contains(&asking.work) {
                asking.state = AskState::ToClose(proto::decision::Closed::Superseded);
                if asking.question.deadline.is_some() {
                    self.orphans.push(names::ask_timer(&asking.question.id));
                }
            }
        }
    }

    /// Steps of the plan in force that stay in it whatever is planned.
    pub(super) fn kept(&self) -> BTreeSet<StepId> {
        self.steps.iter().map(|run| run.id().clone()).collect()
    }

    /// Whether a plan without steps is one.
    pub(super) fn may_be_empty(&self) -> bool {
        let nothing_left = self.cause.is_some_and(Cause::may_leave_nothing);
        self.agent.plan.allow_empty || nothing_left || !self.steps.is_empty()
    }

    /// Puts a plan in force.
    pub(super) fn adopt(&mut self, plan: Plan) {
        let revision = self.revision;
        self.revision = revision.saturating_add(1);
        self.forces.push(Force { title: plan.title.clone(), cause: self.cause.take() });
        self.plan_title = plan.title;
        self.listed.extend(plan.replan);
        let run = |step| StepRun::new(step, self.generation, revision);
        self.steps.extend(plan.steps.into_iter().map(run));
        self.level();
        self.stage = Stage::Execute;
    }

    /// A person told the job something.
    pub(super) fn steered(&mut self, words: &str) {
        self.instructions.push(words.to_owned());
        self.dialogue.push(PlanTalk::Steered { words: words.to_owned() });
    }

    /// A command to plan was stored: it carries what was said before it.
    pub(super) fn heard_by_plan(&mut self, work: &PlanWork) {
        let told = |talk: &&PlanTalk| matches!(talk, PlanTalk::Steered { .. });
        self.heard = self.heard.max(work.dialogue.iter().filter(told).count());
    }

    /// A command of a turn was stored: it carries what was said before it. `told` is what the turns
    /// before it of the same run carried.
    pub(super) fn heard_by_turn(&mut self, work: &TurnWork, told: usize) {
        self.heard = self.heard.max(told.saturating_add(work.instructions.len()));
    }

    /// What people said, as it is looked at.
    pub(super) fn instructions_view(&self) -> Vec<Instruction> {
        let heard = |number| number < self.heard;
        let said = self.instructions.iter().enumerate();
        said.map(|(n, text)| Instruction { text: text.clone(), heard: heard(n) }).collect()
    }

    /// Every plan so far as a change of the one before; nothing as long as there is one.
    pub(super) fn revisions(&self) -> Vec<Revision> {
        if self.forces.len() < 2 {
            return Vec::new();
        }
        let forces = self.forces.iter().zip(0u32..);
        forces
            .map(|(force, number)| Revision {
                number,
                title: force.title.clone(),
                cause: force.cause,
                steps: self.lines(number),
            })
            .collect()
    }

    fn lines(&self, number: u32) -> Vec<Line> {
        let line = |run: &StepRun| {
            let change = match (run.revision == number, run.left) {
                _ if run.revision > number => return None,
                (_, Some(left)) if left < number => return None,
                (_, Some(left)) if left == number => Change::Dropped,
                (true, _) => Change::Added,
                (false, _) => Change::Kept,
            };
            Some(Line {
                change,
                id: run.id().clone(),
                label: super::excerpt::line(run.step.label(), 200),
                depends_on: run.step.depends_on.clone(),
                state: run.state,
            })
        };
        self.past.iter().chain(&self.steps).filter_map(line).collect()
    }
}

/// The units of work that a step's questions are for.
fn questions_of(run: &StepRun) -> Vec<proto::id::WorkId> {
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
        Exec::NotBegun | Exec::Turn(_) | Exec::Rerun(_) | Exec::Ended => Vec::new(),
    }
}
