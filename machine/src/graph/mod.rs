//! Workflows: the way of a job through the graph of its submission.
//!
//! The planner is deterministic and runs when a job decides. It takes the steps that have ended,
//! evaluates writes, conditions and templates, and chooses moves. The log records the
//! moves with their values, and the fold applies them without evaluating anything: a newer engine of
//! templates cannot change an old log.

mod due;
mod editing;
mod entering;
mod evaluation;
mod hearing;
mod joining;
mod planner;
mod view;
mod visiting;

use std::sync::Arc;

use jiff::Timestamp;
use proto::{
    decision::Note,
    id::{TimerName, WorkId},
    job::Outcome,
    step::StepState,
    workflow::{
        Advance, EVENTS_MAX, EventName, Move, NodeId, Paths, Visit, Workflow, WorkflowEnd,
        WorkflowName, WorkflowRun,
    },
};
use serde_json::{Value, json};

#[cfg(test)]
pub(crate) use self::evaluation::without_evaluator;
pub use self::view::EndedVisit;
pub(crate) use self::view::{Way, way};
use self::{due::may_be_due, planner::Planner};
use crate::{
    at::Counted,
    names,
    state::{ActiveJob, Graph, Job, Stage},
    step::StepRun,
    text::Text,
};

/// Returns the first node that a workflow names and does not have. The checker finds such names.
fn missing(definition: &Workflow) -> Option<&NodeId> {
    let split = definition.nodes.values().filter_map(|node| node.work.paths());
    let starts = split.flat_map(Paths::starts);
    let targets = definition.nodes.values().flat_map(|node| node.targets());
    let named = targets.filter_map(|target| target.node()).chain(starts);
    let mut named = named.chain([&definition.start]);
    named.find(|node| !definition.nodes.contains_key(*node))
}

/// The reason why a job does not keep an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventRefusal {
    /// The job runs no workflow.
    NoWorkflow,
    /// No node of the workflow waits for events of this name. The names that nodes wait for follow.
    Unawaited(Vec<EventName>),
    /// The job keeps [`EVENTS_MAX`] events that no node has received.
    Full,
}

impl Job {
    /// Returns the reason why the job would not keep an event of this name now, or `None` if it
    /// would.
    #[must_use]
    pub fn refuses_event(&self, name: &EventName) -> Option<EventRefusal> {
        let Some(graph) = self.open.as_ref().and_then(|open| open.graph.as_ref()) else {
            return Some(EventRefusal::NoWorkflow);
        };
        let definition = &graph.run().definition;
        if !definition.awaits(name) {
            return Some(EventRefusal::Unawaited(definition.events().cloned().collect()));
        }
        (graph.events().len() >= EVENTS_MAX).then_some(EventRefusal::Full)
    }

    /// Returns `true` if the work is that of a step that was skipped, so its command needs no result.
    pub(crate) fn has_skipped(&self, work: &WorkId) -> bool {
        let skipped = |step: &StepRun| {
            let own = names::step(step.generation, step.revision, step.id());
            step.state == StepState::Skipped && is_of(work, &own)
        };
        self.open.as_ref().is_some_and(|open| open.execution.steps().iter().any(skipped))
    }
}

/// Returns `true` if the work is that of a step or one of its parts.
fn is_of(work: &WorkId, step: &WorkId) -> bool {
    let rest = work.as_str().strip_prefix(step.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl ActiveJob {
    /// Puts the submitted workflow in the place of a plan.
    pub(super) fn adopt_workflow(&mut self, run: &WorkflowRun) {
        if let Some((tool, binding)) = run
            .tools
            .iter()
            .find(|(tool, binding)| self.not_granted(tool, binding, &json!({})).is_some())
        {
            // The door checks workflows; this submission was written to the log directly.
            let why = self.not_granted(tool, binding, &json!({}));
            return self.no_plan(&why.map(|(_, why)| why).unwrap_or_default());
        }
        if let Some(node) = missing(&run.definition) {
            return self.no_plan(&format!("workflow.nodes.{node}"));
        }
        self.graph = Some(Box::new(Graph::new(Arc::new(run.clone()))));
        self.execution.begin_workflow(run.definition.name.as_str());
        self.planning.enter(Stage::Execute);
    }

    /// Returns the name of the workflow, or `None` for a job with a plan.
    pub(super) fn workflow_name(&self) -> Option<&WorkflowName> {
        Some(&self.graph.as_ref()?.run().definition.name)
    }

    /// Returns `true` if the job runs a workflow.
    pub(super) fn has_workflow(&self) -> bool {
        self.graph.is_some()
    }

    fn workflow_end(&self) -> Option<&WorkflowEnd> {
        self.graph.as_ref()?.end()
    }

    /// Ends a visit's question whose time is up, and returns `true` if the question is one of a visit.
    pub(super) fn visit_expired(&mut self, work: &WorkId, reason: &str, at: Timestamp) -> bool {
        self.has_workflow() && self.question_timed_out(work, reason, at)
    }

    /// Ends the pause of a timer, and returns `true` if the timer is one of a pause.
    pub(super) fn woke(&mut self, at: Timestamp, timer: &TimerName) -> bool {
        self.has_workflow() && self.pause_over(timer, at)
    }

    /// Returns the outcome of the workflow once its end is recorded. Work of cancelled paths may
    /// still run; its results change nothing.
    pub(super) fn workflow_outcome(&self) -> Option<Outcome> {
        self.workflow_end().map(|end| self.outcome_of(end))
    }

    /// Returns the note with the next moves of the workflow, or `None` if it waits for its steps.
    pub(super) fn advance(&self, now: Timestamp) -> Option<Note> {
        let graph = self.graph.as_deref().filter(|graph| graph.end().is_none())?;
        if !may_be_due(self, graph) {
            return None;
        }
        let moves = Planner::new(self, graph, now).moves();
        let n = graph.advances().saturating_add(1);
        let generation = self.generation();
        (!moves.is_empty()).then_some(Note::Advanced(Advance { n, moves, generation }))
    }

    /// Applies recorded moves, and returns `true` if they can follow.
    pub(super) fn advanced(&mut self, at: Timestamp, advance: &Advance) -> bool {
        let Some(mut graph) = self.graph.take() else { return false };
        self.visits.begin_advance();
        let follows = graph.advances().saturating_add(1) == advance.n
            && advance.moves.iter().all(|one| self.moved(&mut graph, one, at));
        graph.count_advance();
        self.graph = Some(graph);
        follows
    }

    /// Keeps an event for the workflow, and counts it if it can be kept.
    pub(super) fn heard_event(&mut self, name: &EventName, data: &Value) -> Counted {
        Counted::from(self.graph.as_mut().is_some_and(|graph| graph.keep_event(name, data)))
    }

    fn moved(&mut self, graph: &mut Graph, one: &Move, at: Timestamp) -> bool {
        // The move removes the event.
        let event = match one {
            Move::Receive { event, .. } => graph.events().get(event).map(|event| event.as_value()),
            Move::Enter { .. }
            | Move::Write { .. }
            | Move::Leave { .. }
            | Move::Split { .. }
            | Move::Arrive { .. }
            | Move::Join { .. }
            | Move::End { .. } => None,
        };
        let Ok(canceled) = graph.apply(one) else { return false };
        self.visits.record(one, &canceled, at);
        for visit in canceled {
            self.skip_visit(&visit, at);
        }
        match one {
            Move::Enter { visit, work, .. } => self.begin_visit(graph, visit, work, at),
            Move::Receive { visit, .. } => self.received(visit, event, at),
            Move::Leave { visit, .. } => self.left_late(visit, at),
            Move::Write { .. }
            | Move::Split { .. }
            | Move::Arrive { .. }
            | Move::Join { .. }
            | Move::End { .. } => true,
        }
    }

    /// Ends the step of a visit with the event that it received.
    fn received(&mut self, visit: &Visit, event: Option<Value>, at: Timestamp) -> bool {
        let awaits = |step: &&mut StepRun| step.awaited_event().is_some();
        let step = self.execution.of_visit_mut(visit).filter(awaits);
        let (Some(step), Some(event)) = (step, event) else { return false };
        let timer = step.sleep_timer().cloned();
        step.receive(event, at);
        self.timers.orphan(timer);
        true
    }

    /// Ends the step of a visit that is left while it waits for an event: its time is up. Returns
    /// `false` if the time is not up.
    fn left_late(&mut self, visit: &Visit, at: Timestamp) -> bool {
        let reason = Text::NoEvent.text(self.language());
        let awaits = |step: &&mut StepRun| step.awaited_event().is_some();
        let Some(step) = self.execution.of_visit_mut(visit).filter(awaits) else {
            return true;
        };
        if !step.sleep().is_some_and(|sleep| sleep.is_late) {
            return false;
        }
        step.time_out(reason, at);
        true
    }

    /// Ends the step of a visit whose path was cancelled. A result that arrives later changes nothing.
    fn skip_visit(&mut self, visit: &Visit, at: Timestamp) {
        let id = visit.step();
        let Some(step) = self.execution.of_visit_mut(visit) else { return };
        if step.state.is_terminal() {
            return;
        }
        let timers: Vec<_> =
            step.attempts().filter_map(|attempts| attempts.timer().cloned()).collect();
        let timers = timers.into_iter().chain(step.sleep_timer().cloned()).collect::<Vec<_>>();
        step.end(StepState::Skipped, None, at);
        let own = names::step(step.generation, step.revision, &id);
        let stays = |work: &WorkId| !is_of(work, &own);
        self.timers.orphan(timers);
        let timers = self.questions.supersede(at, stays);
        self.timers.orphan(timers);
    }

    /// Returns the step of a visit.
    fn step_of(&self, visit: &Visit) -> Option<&StepRun> {
        self.execution.of_visit(visit)
    }
}
