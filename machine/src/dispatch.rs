//! Which steps may go on: dependencies, order, and what a failed step holds back.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use proto::{
    agent::{Dispatch, OnBlocked, OnFailure},
    id::StepId,
    placeholder,
    plan::Action,
    step::StepState,
};
use serde_json::Value;

use super::{
    state::{Open, Stage},
    step::{Given, StepRun},
};

impl Open {
    /// Draws every conclusion that follows from what is known, in a fixed order.
    pub(super) fn settle(&mut self, at: Timestamp) {
        self.settle_planning();
        self.settle_agents();
        for step in &mut self.steps {
            step.settle(&self.agent, self.language, at);
        }
        self.release_steps(at);
        self.settle_failures();
        self.settle_budget();
    }

    fn settle_planning(&mut self) {
        let Stage::Plan { tries } = &self.stage else { return };
        if tries.is_parked(&self.agent) {
            return;
        }
        if let Some(error) = tries.given_up(&self.agent.tool.retry) {
            let error = error.message.clone();
            self.stage = self.no_plan(&error);
        }
    }

    /// Moves steps whose dependencies have ended: to ready, or to blocked.
    fn release_steps(&mut self, at: Timestamp) {
        loop {
            let states: BTreeMap<StepId, StepState> = self
                .past
                .iter()
                .chain(&self.steps)
                .map(|run| (run.id().clone(), run.state))
                .collect();
            let mut moved = false;
            for index in 0..self.steps.len() {
                moved |= self.release(index, &states, at);
            }
            // A step that was just failed or blocked holds back others in turn.
            if !moved {
                return;
            }
        }
    }

    fn release(
        &mut self,
        index: usize,
        states: &BTreeMap<StepId, StepState>,
        at: Timestamp,
    ) -> bool {
        let Some(step) = self.steps.get(index).filter(|step| step.state == StepState::Pending)
        else {
            return false;
        };
        let of = |id: &StepId| states.get(id).copied().unwrap_or(StepState::Failed);
        let lost = |id: &&StepId| of(id).is_terminal() && of(id) != StepState::Completed;
        if let Some(on) = step.step.depends_on.iter().find(lost) {
            let reason = format!("{on} {}", of(on));
            let state = match self.agent.step.on_blocked {
                OnBlocked::Error => StepState::Blocked,
                OnBlocked::Skip => StepState::Skipped,
            };
            self.change(index, |step| step.end(state, Some(reason.clone()), at));
            return true;
        }
        if step.step.depends_on.iter().any(|on| of(on) != StepState::Completed) {
            return false;
        }
        let values = self.values_for(step);
        let (agent, language) = (Arc::clone(&self.agent), self.language);
        let given = Given { presets: &agent.tool.presets, rules: self.rules, language };
        self.change(index, |step| step.ready(&|id| values.get(id).cloned(), given, at));
        true
    }

    fn change(&mut self, index: usize, change: impl Fn(&mut StepRun)) {
        if let Some(step) = self.steps.get_mut(index) {
            change(step);
        }
    }

    /// The results that a step's arguments read.
    fn values_for(&self, step: &StepRun) -> BTreeMap<StepId, Value> {
        let Action::Tool { args, .. } = &step.step.action else { return BTreeMap::new() };
        let declared = |id: &StepId| step.step.depends_on.contains(id);
        placeholder::references(args)
            .into_iter()
            .filter(declared)
            .filter_map(|id| self.result_of(&id).map(|value| (id, value)))
            .collect()
    }

    /// The result of a completed step of any plan so far.
    pub(super) fn result_of(&self, id: &StepId) -> Option<Value> {
        let done = |run: &&StepRun| run.id() == id && run.state == StepState::Completed;
        self.steps.iter().chain(&self.past).find(done).and_then(|run| run.result.clone())
    }

    /// Steps that may be given commands now, in the order of the plan.
    pub(super) fn active_steps(&self) -> Vec<&StepRun> {
        if self.is_held_by_failure() {
            return Vec::new();
        }
        // What was begun ends before the plan is made anew, and nothing new is begun.
        let held = self.replan_wish().is_some();
        let active = |run: &&StepRun| {
            !run.state.is_terminal()
                && run.state != StepState::Pending
                && !(held && run.started.is_none())
        };
        match self.agent.dispatch {
            Dispatch::Parallel => self.steps.iter().filter(active).collect(),
            // A step that waits for a later one of the list is passed by; what was begun is always
            // the first that is not, as nothing else can have become ready meanwhile.
            Dispatch::Sequential => self.steps.iter().find(active).into_iter().collect(),
            Dispatch::Levels => {
                let open = self.steps.iter().filter(|run| !run.state.is_terminal());
                let level = open.map(|run| run.level).min();
                self.steps.iter().filter(|run| Some(run.level) == level).filter(active).collect()
            }
        }
    }

    /// Gives each step of the plan in force its level: how many steps come one after the other above
    /// it. Those that have ended are above nobody.
    pub(super) fn level(&mut self) {
        if self.agent.dispatch != Dispatch::Levels {
            return;
        }
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

    /// Whether a failed step means that nothing new is started.
    pub(super) fn is_held_by_failure(&self) -> bool {
        match self.agent.step.on_failure {
            OnFailure::Continue => false,
            OnFailure::Stop | OnFailure::Replan | OnFailure::FailRun => {
                self.first_failed().is_some()
            }
        }
    }

    pub(super) fn first_failed(&self) -> Option<&StepRun> {
        self.steps.iter().find(|run| run.state == StepState::Failed)
    }
}
