//! The plan in force, the plans before it, and their steps.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use proto::{
    agent::{Dispatch, Listed, ReplanApply},
    decision::{SpawnWork, StepEnd},
    id::{AskId, Generation, Seq, StepId, TimerName, WorkId},
    observe::Observe,
    plan::{Plan, Step},
    revision::{Cause, Change, Line, Revision},
    step::StepState,
};
use serde_json::Value;

use crate::{attempts::Attempts, call::Call, excerpt, step::StepRun};

/// Steps, in the order of their plans.
#[derive(Debug, Clone, Default)]
pub(crate) struct Execution {
    title: String,
    /// Steps of the plan in force.
    steps: Vec<StepRun>,
    /// Steps of earlier plans that have ended.
    past: Vec<StepRun>,
    /// Steps of the plan in force after which the rest is replanned.
    listed: Vec<StepId>,
    /// Plans that have been in force.
    revision: u32,
    forces: Vec<Force>,
    /// The reason why the plan before makes way, until the next one is in force.
    cause: Option<Cause>,
    /// Plans made in place of another one that count against the agent's limit.
    replans: u32,
}

/// A plan that has been in force.
#[derive(Debug, Clone)]
struct Force {
    title: String,
    cause: Option<Cause>,
}

/// The end of a plan: what the planner is told of it, and timers that nothing waits for any more.
pub(crate) struct Ended {
    pub(crate) plan: Plan,
    pub(crate) steps: Vec<StepEnd>,
    pub(crate) kept: Vec<StepId>,
    pub(crate) orphans: Vec<TimerName>,
}

impl Execution {
    pub(crate) fn steps(&self) -> &[StepRun] {
        &self.steps
    }

    pub(crate) fn steps_mut(&mut self) -> &mut [StepRun] {
        &mut self.steps
    }

    pub(crate) fn past(&self) -> &[StepRun] {
        &self.past
    }

    /// Steps of every plan so far.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = &StepRun> {
        self.past.iter().chain(&self.steps)
    }

    /// Steps of every plan so far that have completed.
    pub(crate) fn done(&self) -> impl Iterator<Item = &StepRun> {
        self.all().filter(|run| run.state == StepState::Completed)
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    pub(crate) fn revision(&self) -> u32 {
        self.revision
    }

    pub(crate) fn replans(&self) -> u32 {
        self.replans
    }

    pub(crate) fn first_failed(&self) -> Option<&StepRun> {
        self.steps.iter().find(|run| run.state == StepState::Failed)
    }

    pub(crate) fn are_all_over(&self) -> bool {
        self.steps.iter().all(|run| run.state.is_terminal())
    }

    /// Whether a command of a step is in a queue or with a worker.
    pub(crate) fn has_work_out(&self) -> bool {
        self.steps.iter().any(StepRun::has_work_out)
    }

    /// Ids of steps that have completed.
    pub(crate) fn completed(&self) -> BTreeSet<StepId> {
        self.done().map(|run| run.id().clone()).collect()
    }

    /// Steps of the plan in force that stay in it whatever is planned.
    pub(crate) fn kept(&self) -> BTreeSet<StepId> {
        self.steps.iter().map(|run| run.id().clone()).collect()
    }

    /// The result of a completed step of any plan so far.
    pub(crate) fn result_of(&self, id: &StepId) -> Option<Value> {
        let done = |run: &&StepRun| run.id() == id && run.state == StepState::Completed;
        self.steps.iter().chain(&self.past).find(done).and_then(|run| run.result.clone())
    }

    /// The ends of the steps that one needs.
    pub(crate) fn dependencies(&self, step: &StepRun, observe: &Observe) -> Vec<StepEnd> {
        let depends = |run: &&StepRun| step.step.depends_on.contains(run.id());
        self.all().filter(depends).map(|run| run.as_end(observe)).collect()
    }

    /// The first call that fits, and whether it is a whole step.
    pub(crate) fn call_mut(&mut self, find: impl Fn(&Call) -> bool) -> Option<(&mut Call, bool)> {
        self.steps.iter_mut().find_map(|step| step.call_mut(&find))
    }

    pub(crate) fn attempts_mut(&mut self) -> impl Iterator<Item = &mut Attempts> {
        self.steps.iter_mut().flat_map(StepRun::attempts_mut)
    }

    /// Timers of what is under way.
    pub(crate) fn timers(&self) -> impl Iterator<Item = TimerName> {
        self.steps
            .iter()
            .flat_map(StepRun::attempts)
            .filter_map(|attempts| attempts.timer().cloned())
    }

    /// Questions that turns have asked for and that are not stored yet.
    pub(crate) fn unasked(&self) -> u32 {
        self.steps.iter().map(StepRun::unasked).sum()
    }

    /// Notes at a step that its question was stored; says whether an agent wanted it.
    pub(crate) fn attach(&mut self, work: &WorkId, id: &AskId) -> Option<(&mut StepRun, bool)> {
        self.steps.iter_mut().find_map(|step| {
            let by_agent = step.attach(work, id)?;
            Some((step, by_agent))
        })
    }

    /// Whether steps have completed after which the rest is replanned.
    pub(crate) fn listed_completed(&self, listed: Listed) -> bool {
        let completed = |id: &StepId| {
            let done = |run: &&StepRun| run.state == StepState::Completed;
            self.steps.iter().filter(done).any(|run| run.id() == id)
        };
        match listed {
            Listed::Each => self.listed.iter().any(completed),
            Listed::All => !self.listed.is_empty() && self.listed.iter().all(completed),
        }
    }

    /// Whether a plan without steps may follow.
    pub(crate) fn may_end_empty(&self) -> bool {
        self.cause.is_some_and(Cause::may_leave_nothing) || !self.steps.is_empty()
    }

    /// Puts a plan in force.
    pub(crate) fn adopt(&mut self, plan: Plan, generation: Generation, dispatch: Dispatch) {
        let revision = self.revision;
        self.revision = revision.saturating_add(1);
        self.forces.push(Force { title: plan.title.clone(), cause: self.cause.take() });
        self.title = plan.title;
        self.listed.extend(plan.replan);
        self.steps
            .extend(plan.steps.into_iter().map(|step| StepRun::new(step, generation, revision)));
        if dispatch == Dispatch::Levels {
            self.level();
        }
    }

    /// Gives each step of the plan in force its level: how many steps come one after the other above
    /// it. Those that have ended are above nobody.
    fn level(&mut self) {
        let mut levels: BTreeMap<StepId, u32> = BTreeMap::new();
        // A plan has no circle, so there are at most as many rounds as steps.
        loop {
            let mut moved = false;
            for run in &self.steps {
                let above = run.step.depends_on.iter().filter_map(|on| levels.get(on)).max();
                let level = above.map_or(0, |above| above.saturating_add(1));
                moved |= levels.insert(run.id().clone(), level) != Some(level);
            }
            if !moved {
                break;
            }
        }
        for run in &mut self.steps {
            run.level = levels.get(run.id()).copied().unwrap_or_default();
        }
    }

    /// Every step keeps a list of its own.
    pub(crate) fn keep_outlines(&mut self) {
        self.steps.iter_mut().for_each(|step| step.outline = Some(Vec::new()));
    }

    /// Ends the plan in force; steps that stay are part of the next one.
    pub(crate) fn end_plan(
        &mut self,
        at: Timestamp,
        cause: Cause,
        apply: ReplanApply,
        observe: &Observe,
    ) -> Ended {
        let plan = Plan {
            title: self.title.clone(),
            steps: self.steps.iter().map(|run| Step::clone(&run.step)).collect(),
            replan: self.listed.clone(),
        };
        let mut ended = Ended { plan, steps: Vec::new(), kept: Vec::new(), orphans: Vec::new() };
        let mut kept = Vec::new();
        for mut step in std::mem::take(&mut self.steps) {
            if step.stays(apply) {
                kept.push(step);
                continue;
            }
            if step.state.is_terminal() {
                ended.steps.push(step.as_end(observe));
            } else {
                ended
                    .orphans
                    .extend(step.attempts().filter_map(|attempts| attempts.timer().cloned()));
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
        ended.kept = kept.iter().map(|run| run.id().clone()).collect();
        self.listed.retain(|id| ended.kept.contains(id));
        self.steps = kept;
        self.cause = Some(cause);
        ended
    }

    pub(crate) fn count_replan(&mut self) {
        self.replans = self.replans.saturating_add(1);
    }

    /// The records that a fork's steps refer to are those of the job it begins as.
    pub(crate) fn take_along(&mut self) {
        for step in &mut self.steps {
            step.refer_to(Seq::taken_along);
        }
    }

    /// Every plan so far as a change of the one before; empty as long as there is one.
    pub(crate) fn revisions(&self) -> Vec<Revision> {
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
                label: excerpt::line(run.step.label(), 200),
                depends_on: run.step.depends_on.clone(),
                state: run.state,
            })
        };
        self.all().filter_map(line).collect()
    }

    /// Whether a step waits for a child.
    pub(crate) fn awaits(&self, spawn: &SpawnWork) -> bool {
        let mut calls = self.steps.iter().flat_map(StepRun::calls_now);
        calls.any(|call| call.awaits(&spawn.work, spawn.attempt))
    }

    /// The call that a unit of work is, unless it has ended.
    pub(crate) fn call_under_way(&self, unit: &str) -> Option<&Call> {
        let is_it = |call: &&Call| call.end.is_none() && call.work.unit() == unit;
        self.steps.iter().flat_map(StepRun::calls_now).find(is_it)
    }
}
