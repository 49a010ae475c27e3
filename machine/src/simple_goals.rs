//! Goals taken for simple whose model asks for changes: its calls become a plan that a person
//! confirms.

use agents::placeholder;
use jiff::Timestamp;
use proto::{
    agent::ReplanApply,
    fact::{CallTarget, TurnCall},
    id::StepId,
    plan::{Action, Plan, Step},
    revision::Cause,
    tool::{Binding, Effect},
};

use super::{state::ActiveJob, text::Text};

/// Number of changing calls in one turn that need a confirmation.
const CHANGES: usize = 2;

impl ActiveJob {
    /// Returns the plan that the calls of a turn become: if the agent confirms plans, the goal was
    /// taken for simple, and the calls change several things or one of them destroys something. If
    /// the turn also asks a person, there is no plan yet: the changing calls are refused until the
    /// model knows the answer.
    pub(super) fn plan_of_calls(&self, calls: &mut [TurnCall]) -> Option<Plan> {
        let agent = &self.brief.agent;
        let is_simple = self.planning.detected().is_some_and(|detected| !detected.complex);
        let confirms = agent.confirm && self.brief.rules.simple_goals_confirm_changes();
        if !confirms || !is_simple || !self.planning.is_executing() || !needs_confirmation(calls) {
            return None;
        }
        let title = self.goal_step().map(|_| self.execution.title().to_owned())?;
        let steps: Vec<Step> = calls.iter().filter_map(action).zip(1..).map(step).collect();
        if !steps.iter().all(|step| agent.step.exec.allows(&step.action)) {
            return None;
        }
        if !calls.iter().any(|call| matches!(call.target, CallTarget::Person { .. })) {
            return Some(Plan { title, steps, ..Plan::default() });
        }
        for call in calls.iter_mut().filter(|call| binding(call).is_some_and(changes)) {
            let error = Text::AnswerFirst.text(self.language());
            call.target = CallTarget::Refused { error };
        }
        None
    }

    /// Ends the plan that is the goal itself, and asks for the confirmation of another one.
    pub(super) fn confirm_calls(&mut self, at: Timestamp, plan: Plan) {
        for step in self.execution.steps_mut() {
            step.turns = step.turns.saturating_add(1);
            if step.calls.is_empty() {
                // A goal that made no call leaves nothing to show.
                step.started = None;
            }
        }
        let observe = self.brief.agent.observe.clone();
        let ended = self.execution.end_plan(at, Cause::Turn, ReplanApply::ReplaceAll, &observe);
        self.timers.orphan(ended.orphans);
        self.planning.propose(plan);
    }
}

fn needs_confirmation(calls: &[TurnCall]) -> bool {
    let changing: Vec<&Binding> =
        calls.iter().filter_map(binding).filter(|binding| changes(binding)).collect();
    changing.len() >= CHANGES || changing.iter().any(|binding| binding.destructive)
}

fn changes(binding: &Binding) -> bool {
    match binding.effect {
        Effect::Pure => false,
        Effect::Idempotent | Effect::Once => true,
    }
}

fn binding(call: &TurnCall) -> Option<&Binding> {
    match &call.target {
        CallTarget::Tool { binding, .. } => Some(binding),
        CallTarget::Person { .. } | CallTarget::Refused { .. } | CallTarget::Outline { .. } => None,
    }
}

/// Returns the action of a planned step that makes this call. Braces in its arguments stay braces.
fn action(call: &TurnCall) -> Option<Action> {
    let CallTarget::Tool { tool, binding } = &call.target else { return None };
    let args = placeholder::escaped(&call.args);
    Some(Action::Tool { tool: tool.clone(), args, binding: binding.clone() })
}

fn step((action, number): (Action, usize)) -> Step {
    let description = match &action {
        Action::Tool { tool, .. } => tool.to_string(),
        Action::Agent => String::new(),
    };
    Step {
        id: StepId::new(format!("step{number}")).expect("`step` and a number are an id"),
        title: String::new(),
        description,
        depends_on: Vec::new(),
        action,
    }
}
