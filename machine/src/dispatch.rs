//! The scheduling of steps: dependencies, order, and the effect of failed steps.

use std::collections::BTreeMap;

use agents::placeholder;
use jiff::Timestamp;
use proto::{
    agent::{Dispatch, OnBlocked, OnFailure},
    id::StepId,
    plan::Action,
    step::StepState,
};
use serde_json::Value;

use super::{attempts::Retries, progress::StepContext, state::ActiveJob, step::StepRun};

/// The reason why a pending step waits no longer.
enum Release {
    /// Every dependency completed, with these results.
    Ready(BTreeMap<StepId, Value>),
    /// A dependency cannot complete; its id and state.
    Lost(String),
}

impl ActiveJob {
    /// Draws every conclusion that follows from the facts so far, in a fixed order.
    pub(super) fn settle(&mut self, at: Timestamp) {
        self.settle_planning();
        self.settle_agents();
        let language = self.language();
        for step in self.execution.steps_mut() {
            step.settle(&self.brief.agent, language, at);
        }
        self.release_steps(at);
        self.settle_failures();
        self.settle_output();
        self.settle_budget();
    }

    fn settle_planning(&mut self) {
        let Some(attempts) = self.planning.stage().attempts() else { return };
        if let Some(error) = attempts.failed(Retries::of_work(&self.brief.agent)) {
            self.no_plan(&error.message.clone());
        }
    }

    /// Makes pending steps ready once their dependencies completed, or blocks or skips them if a
    /// dependency cannot complete.
    fn release_steps(&mut self, at: Timestamp) {
        // A step that has just failed or been blocked may block further steps.
        loop {
            let released = self.released();
            if released.is_empty() {
                return;
            }
            let language = self.language();
            let agent = &self.brief.agent;
            let given = StepContext { presets: &agent.tool.presets, language };
            for (index, release) in released {
                let Some(step) = self.execution.steps_mut().get_mut(index) else { continue };
                match release {
                    Release::Ready(values) => step.ready(&|id| values.get(id).cloned(), given, at),
                    Release::Lost(reason) => {
                        let state = match agent.step.on_blocked {
                            OnBlocked::Error => StepState::Blocked,
                            OnBlocked::Skip => StepState::Skipped,
                        };
                        step.end(state, Some(reason), at);
                    }
                }
            }
        }
    }

    /// Returns the pending steps of the plan in force that wait for no other step any more, by their
    /// index.
    fn released(&self) -> Vec<(usize, Release)> {
        let steps = self.execution.steps().iter().enumerate();
        let pending = steps.filter(|(_, step)| step.state == StepState::Pending);
        pending.filter_map(|(index, step)| Some((index, self.release(step)?))).collect()
    }

    fn release(&self, step: &StepRun) -> Option<Release> {
        let of = |place: &Option<usize>| {
            let run = place.and_then(|place| self.execution.at(place));
            run.map_or(StepState::Failed, |run| run.state)
        };
        let mut is_ready = true;
        for (place, on) in step.above.iter().zip(&step.step.depends_on) {
            match of(place) {
                StepState::Completed => {}
                StepState::Pending | StepState::Ready | StepState::Running | StepState::Waiting => {
                    is_ready = false;
                }
                state @ (StepState::Failed
                | StepState::Blocked
                | StepState::Skipped
                | StepState::Canceled) => return Some(Release::Lost(format!("{on} {state}"))),
            }
        }
        is_ready.then(|| Release::Ready(self.values_for(step)))
    }

    /// Returns the results that a step's arguments refer to. Only declared dependencies are
    /// visible.
    fn values_for(&self, step: &StepRun) -> BTreeMap<StepId, Value> {
        let Action::Tool { args, .. } = &step.step.action else { return BTreeMap::new() };
        let declared = |id: &StepId| step.step.depends_on.contains(id);
        placeholder::references(args)
            .into_iter()
            .filter(declared)
            .filter_map(|id| self.execution.result_of(&id).map(|value| (id, value)))
            .collect()
    }

    /// Returns the steps that may be given commands now, in plan order.
    pub(super) fn active_steps(&self) -> Vec<&StepRun> {
        if self.is_held_by_failure() {
            return Vec::new();
        }
        // Before replanning, running steps finish and no other step starts.
        let held = self.replan_wish().is_some();
        let active = |run: &&StepRun| {
            !run.state.is_terminal()
                && run.state != StepState::Pending
                && !(held && run.started.is_none())
        };
        // The graph says what runs at the same time.
        let dispatch = match self.has_workflow() {
            true => Dispatch::Parallel,
            false => self.brief.agent.dispatch,
        };
        match dispatch {
            Dispatch::Parallel => self.execution.steps().iter().filter(active).collect(),
            // A step that waits for a later one in the list is skipped over. If a step has begun,
            // it is the first active one, because no earlier step can have become ready meanwhile.
            Dispatch::Sequential => {
                self.execution.steps().iter().find(active).into_iter().collect()
            }
            Dispatch::Levels => {
                let open = self.execution.steps().iter().filter(|run| !run.state.is_terminal());
                let level = open.map(|run| run.level).min();
                self.execution
                    .steps()
                    .iter()
                    .filter(|run| Some(run.level) == level)
                    .filter(active)
                    .collect()
            }
        }
    }

    /// Returns `true` if a failed step prevents new work.
    fn is_held_by_failure(&self) -> bool {
        if self.has_workflow() {
            return false;
        }
        match self.brief.agent.step.on_failure {
            OnFailure::Continue => false,
            OnFailure::Stop | OnFailure::Replan | OnFailure::FailRun => {
                self.execution.first_failed().is_some()
            }
        }
    }
}
