//! The plan in force, its predecessors, and their steps.

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
    workflow::Visit,
};
use serde_json::Value;

use crate::{attempts::Attempts, call::Call, excerpt, step::StepRun};

/// The steps of all plans, in plan order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Execution {
    title: String,
    /// Steps of the plan in force.
    steps: Vec<StepRun>,
    /// Steps that left with earlier plans, whether they completed, failed or were skipped.
    past: Vec<StepRun>,
    /// Places in `steps` of the visits of a workflow, which has no earlier plans.
    visits: BTreeMap<Visit, usize>,
    /// Steps of the plan in force whose completion triggers replanning.
    listed: Vec<StepId>,
    /// Number of plans that have been in force.
    revision: u32,
    forces: Vec<Force>,
    /// Cause for which the last plan ended, until the next one is in force.
    cause: Option<Cause>,
    /// Replans that count against the agent's limit.
    replans: u32,
}

/// A plan that has been in force.
#[derive(Debug, Clone)]
struct Force {
    title: String,
    cause: Option<Cause>,
}

/// The result of ending a plan: the report for the planner, and the timers to cancel.
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

    /// Begins the execution of a workflow, whose steps are added as its nodes are entered.
    pub(crate) fn begin_workflow(&mut self, name: &str) {
        self.title = name.to_owned();
        self.revision = 1;
        self.forces.push(Force { title: name.to_owned(), cause: None });
    }

    /// Adds the step of a workflow's visit.
    pub(crate) fn visit(&mut self, visit: Visit, step: StepRun) {
        self.visits.insert(visit, self.steps.len());
        self.steps.push(step);
    }

    /// Returns the step of a visit.
    pub(crate) fn of_visit(&self, visit: &Visit) -> Option<&StepRun> {
        self.steps.get(*self.visits.get(visit)?)
    }

    /// Returns the step of a visit.
    pub(crate) fn of_visit_mut(&mut self, visit: &Visit) -> Option<&mut StepRun> {
        self.steps.get_mut(*self.visits.get(visit)?)
    }

    /// Returns the steps of all plans.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = &StepRun> {
        self.past.iter().chain(&self.steps)
    }

    /// Returns the step at a place in [`Self::all`].
    pub(crate) fn at(&self, place: usize) -> Option<&StepRun> {
        match place.checked_sub(self.past.len()) {
            None => self.past.get(place),
            Some(place) => self.steps.get(place),
        }
    }

    /// Returns the completed steps of all plans.
    pub(crate) fn done(&self) -> impl Iterator<Item = &StepRun> {
        self.all().filter(|run| run.state == StepState::Completed && !run.is_output)
    }

    /// Returns the step that gives the result of the job, once everything else is over.
    pub(crate) fn output(&self) -> Option<&StepRun> {
        self.steps.iter().find(|run| run.is_output)
    }

    /// Adds the step that gives the result of the job and returns it.
    pub(crate) fn add_output(
        &mut self,
        step: Step,
        generation: Generation,
    ) -> Option<&mut StepRun> {
        let revision = self.revision.saturating_sub(1);
        let run = StepRun::new(step, generation, revision);
        self.steps.push(StepRun { is_output: true, ..run });
        self.link();
        self.steps.last_mut()
    }

    /// Returns the numbers of steps of all plans that ended with success, and without.
    pub(crate) fn ended_counts(&self) -> (u32, u32) {
        let count = |is: fn(&StepRun) -> bool| {
            let runs = self.all().filter(|run| !run.is_output && is(run));
            u32::try_from(runs.count()).unwrap_or(u32::MAX)
        };
        let successful = |run: &StepRun| run.state == StepState::Completed && !run.unsuccessful;
        let failed = |run: &StepRun| {
            run.state == StepState::Failed || run.state == StepState::Completed && run.unsuccessful
        };
        (count(successful), count(failed))
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

    /// Returns `true` if a command of a step is queued or with a worker.
    pub(crate) fn has_work_out(&self) -> bool {
        self.steps.iter().any(StepRun::has_work_out)
    }

    /// Returns the steps of the plan in force, without the one that gives the result of the job.
    pub(crate) fn planned(&self) -> impl Iterator<Item = &StepRun> {
        self.steps.iter().filter(|run| !run.is_output)
    }

    /// Returns the ids of the completed steps of all plans.
    pub(crate) fn completed(&self) -> BTreeSet<StepId> {
        self.done().map(|run| run.id().clone()).collect()
    }

    /// Returns the ids of the steps in force. While the next plan is made, these are the steps that
    /// it will be added to.
    pub(crate) fn kept(&self) -> BTreeSet<StepId> {
        self.steps.iter().map(|run| run.id().clone()).collect()
    }

    /// Returns the result of a completed step; the plan in force is searched first.
    pub(crate) fn result_of(&self, id: &StepId) -> Option<Value> {
        let done = |run: &&StepRun| run.id() == id && run.state == StepState::Completed;
        self.steps.iter().chain(&self.past).find(done).and_then(|run| run.result.clone())
    }

    /// Returns the ends of the steps that `step` depends on.
    pub(crate) fn dependencies(&self, step: &StepRun, observe: &Observe) -> Vec<StepEnd> {
        let depends = |run: &&StepRun| step.step.depends_on.contains(run.id());
        // A later plan may use the id of a step again; the newest step counts.
        let newest: BTreeMap<_, _> =
            self.all().filter(depends).map(|run| (run.id(), run)).collect();
        self.all()
            .filter(|run| newest.get(run.id()).is_some_and(|one| std::ptr::eq(*one, *run)))
            .map(|run| run.as_end(observe))
            .collect()
    }

    /// Returns the first call that matches, with `true` if the call is a whole step.
    pub(crate) fn call_mut(&mut self, find: impl Fn(&Call) -> bool) -> Option<(&mut Call, bool)> {
        self.steps.iter_mut().find_map(|step| step.call_mut(&find))
    }

    pub(crate) fn attempts_mut(&mut self) -> impl Iterator<Item = &mut Attempts> {
        self.steps.iter_mut().flat_map(StepRun::attempts_mut)
    }

    /// Returns the timers of running attempts.
    pub(crate) fn timers(&self) -> impl Iterator<Item = TimerName> {
        self.steps
            .iter()
            .flat_map(StepRun::attempts)
            .filter_map(|attempts| attempts.timer().cloned())
    }

    /// Returns the number of questions that turns asked for and that are not stored yet.
    pub(crate) fn unasked(&self) -> u32 {
        self.steps.iter().map(StepRun::unasked).sum()
    }

    /// Records at a step that its question was stored. The flag is `true` if an agent asked it.
    /// `None` if no step needs this question.
    pub(crate) fn attach(&mut self, work: &WorkId, id: &AskId) -> Option<(&mut StepRun, bool)> {
        self.steps.iter_mut().find_map(|step| {
            let by_agent = step.attach(work, id)?;
            Some((step, by_agent))
        })
    }

    /// Returns `true` if the completed steps of the plan's `replan` list trigger replanning.
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

    /// Returns `true` if a plan without steps may follow.
    pub(crate) fn may_end_empty(&self) -> bool {
        self.cause.is_some_and(Cause::may_leave_nothing) || !self.steps.is_empty()
    }

    /// Puts a plan in force. Its steps are added to those that stayed.
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
        self.link();
    }

    /// Finds the places of the steps that each step depends on. They are looked at after every record,
    /// and change only with the plan.
    fn link(&mut self) {
        // A later plan may use the id of a step again; the newest step counts.
        let places: BTreeMap<StepId, usize> =
            self.all().enumerate().map(|(place, run)| (run.id().clone(), place)).collect();
        for run in &mut self.steps {
            run.above = run.step.depends_on.iter().map(|on| places.get(on).copied()).collect();
        }
    }

    /// Sets the level of each step: the length of the longest chain of dependencies above it. Steps
    /// that have left with earlier plans do not count.
    fn level(&mut self) {
        let mut levels: BTreeMap<StepId, u32> = BTreeMap::new();
        // A plan has no cycle, so the loop ends after at most as many rounds as there are steps.
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

    /// Gives every step an empty outline of its own, which its model turns then keep.
    pub(crate) fn keep_outlines(&mut self) {
        self.steps.iter_mut().for_each(|step| step.outline = Some(Vec::new()));
    }

    /// Ends the plan in force. Steps that stay remain; the others are moved to the past, unfinished
    /// ones as skipped.
    pub(crate) fn end_plan(
        &mut self,
        at: Timestamp,
        cause: Cause,
        apply: ReplanApply,
        observe: &Observe,
    ) -> Ended {
        let plan = Plan {
            title: self.title.clone(),
            steps: self.planned().map(|run| Step::clone(&run.step)).collect(),
            replan: self.listed.clone(),
            language: None,
        };
        let mut ended = Ended { plan, steps: Vec::new(), kept: Vec::new(), orphans: Vec::new() };
        let mut kept = Vec::new();
        for mut step in std::mem::take(&mut self.steps) {
            if step.stays(apply) {
                kept.push(step);
                continue;
            }
            if step.state.is_terminal() && !step.is_output {
                ended.steps.push(step.as_end(observe));
            } else if !step.state.is_terminal() {
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
        self.link();
        self.cause = Some(cause);
        ended
    }

    pub(crate) fn count_replan(&mut self) {
        self.replans = self.replans.saturating_add(1);
    }

    /// Marks the records that the steps refer to as those copied from the source of the fork.
    pub(crate) fn take_along(&mut self) {
        for step in &mut self.steps {
            step.refer_to(Seq::taken_along);
        }
    }

    /// Returns every plan as a change of its predecessor; empty while there has been only one.
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
        self.all().filter(|run| !run.is_output).filter_map(line).collect()
    }

    /// Returns `true` if a step waits for this child.
    pub(crate) fn awaits(&self, spawn: &SpawnWork) -> bool {
        let mut calls = self.steps.iter().flat_map(StepRun::calls_now);
        calls.any(|call| call.awaits(&spawn.work, spawn.attempt))
    }

    /// Returns the unfinished call of a unit of work.
    pub(crate) fn call_under_way(&self, unit: &str) -> Option<&Call> {
        let is_it = |call: &&Call| call.end.is_none() && call.work.unit() == unit;
        self.steps.iter().flat_map(StepRun::calls_now).find(is_it)
    }
}
