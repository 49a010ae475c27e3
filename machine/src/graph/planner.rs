//! The choice of the next moves: writes, routes, entries, joins and ends.
//!
//! The planner applies each move to a copy of the place, so that its next choice sees what the fold
//! will see.

use std::collections::BTreeMap;

use agents::workflow::{
    evaluate::{EvalError, Evaluator, Item, OUTPUT_BYTES_MAX, Scope},
    schema,
};
use jiff::Timestamp;
use proto::{
    job::FailReason,
    workflow::{
        Expression, Key, MOVES_MAX, Map, Move, Node, Path, STATE_BYTES_MAX, STATE_KEYS_MAX, Target,
        TemplateValue, Visit, Work, WorkflowEnd, Yield,
    },
};
use serde::Serialize;
use serde_json::Value;

use super::{
    due::{Awaiting, Due, Heard, due},
    evaluation::evaluator,
};
use crate::{
    nodes::VisitEnd,
    state::{ActiveJob, Graph},
    text::Text,
};

/// Size of the moves of an advance after which further ones follow in the next advance, in bytes of
/// JSON. One due place adds at most the values of a whole state to it.
const ADVANCE_BYTES_MAX: usize = 256 * 1024;
/// Moves that one due place may add: the writes of all keys, and a few more.
const ROOM: usize = STATE_KEYS_MAX + 8;

/// The choice of a workflow's next moves.
pub(super) struct Planner<'a> {
    pub(super) open: &'a ActiveJob,
    pub(super) graph: Graph,
    pub(super) now: Timestamp,
    pub(super) evaluator: Evaluator,
    moves: Vec<Move>,
    /// Size of the moves, in bytes of JSON.
    bytes: usize,
    /// Visit whose work is evaluated, which counts already.
    pub(super) entering: Option<Visit>,
    /// Events that visits received by the moves, as expressions read them.
    received: BTreeMap<Visit, Value>,
}

/// The outcome of a node, for its expressions.
pub(super) type Outcome<'a> = Option<(Yield, &'a Value)>;

/// The end of a workflow, as an error of the choice that meets it.
pub(super) struct Over(pub(super) WorkflowEnd);

impl<'a> Planner<'a> {
    pub(super) fn new(open: &'a ActiveJob, graph: &Graph, now: Timestamp) -> Self {
        Self {
            open,
            graph: graph.clone(),
            now,
            evaluator: evaluator(),
            moves: Vec::new(),
            bytes: 0,
            entering: None,
            received: BTreeMap::new(),
        }
    }

    /// Returns the moves that can be made now, bounded by [`MOVES_MAX`] and [`ADVANCE_BYTES_MAX`].
    pub(super) fn moves(mut self) -> Vec<Move> {
        let has_room =
            |it: &Self| it.moves.len() + ROOM <= MOVES_MAX && it.bytes < ADVANCE_BYTES_MAX;
        while self.graph.end().is_none() && has_room(&self) {
            let done = match due(self.open, &self.graph) {
                Some(Due::Enter(path, node)) => self.enter(&path, &node),
                Some(Due::Left(path, visit, end)) => self.leave(&path, &visit, end),
                Some(Due::Arrived(path)) => self.arrive(&path, None, None),
                Some(Due::Item(visit, slot)) => self.begin_item(&visit, slot),
                Some(Due::Joined(visit)) => self.settle_join(&visit, &self.node(&visit)),
                None => match self.next_event() {
                    Some(Heard::Event(it, number)) => self.receive(&it, number, Ok(())),
                    Some(Heard::Unmatched(it, number, error)) => {
                        self.receive(&it, number, Err(error))
                    }
                    Some(Heard::Nothing(it)) => self.leave(&it.path, &it.visit, VisitEnd::TimedOut),
                    None => break,
                },
            };
            if let Err(Over(end)) = done {
                self.make(Move::End { end });
            }
        }
        self.moves
    }

    /// Records a move. The planner makes only moves that follow from the place.
    pub(super) fn make(&mut self, one: Move) {
        let applied = self.graph.apply(&one);
        debug_assert!(applied.is_ok(), "{one:?} does not follow");
        self.bytes = self.bytes.saturating_add(size(&one));
        self.moves.push(one);
    }

    /// Returns the scope of a path's expressions.
    pub(super) fn scoped<T>(
        &self,
        path: &Path,
        outcome: Outcome<'_>,
        evaluate: impl FnOnce(&Evaluator, &Scope<'_>) -> Result<T, EvalError>,
    ) -> Result<T, String> {
        let mut visits = self.graph.visits_of(path);
        let entering = self.entering.as_ref().map(|visit| (visit.node.clone(), visit.number));
        visits.extend(entering);
        let item = self.graph.item_of(path).and_then(|(node, value, slot)| {
            let Work::Map(Map { item, .. }) = &self.graph.node(node)?.work else { return None };
            Some(Item { name: item, value, index: usize::try_from(slot).ok()? })
        });
        let input = &self.graph.run().input;
        let state = self.graph.seen_by(path);
        let scope = Scope { input, state, visits: &visits, item, outcome };
        evaluate(&self.evaluator, &scope).map_err(|error| error.text(self.open.language()))
    }

    /// Returns the event that a visit received by a move of this advance.
    pub(super) fn received(&self, visit: &Visit) -> Option<&Value> {
        self.received.get(visit)
    }

    /// Leaves a visit with an event, or with the error of the condition on it.
    fn receive(
        &mut self,
        Awaiting { path, visit, .. }: &Awaiting,
        number: u32,
        matched: Result<(), String>,
    ) -> Result<(), Over> {
        let event = self.graph.events().get(&number).map(|event| event.as_value());
        let event = event.unwrap_or_default();
        self.make(Move::Receive { visit: visit.clone(), event: number });
        self.received.insert(visit.clone(), event.clone());
        match matched {
            Ok(()) => self.leave(path, visit, VisitEnd::Done(event)),
            Err(error) => {
                let error = Text::MatchFailed { error: &error }.text(self.open.language());
                let node = self.node(visit);
                self.fail(path, visit, &node, error)
            }
        }
    }

    /// Leaves a visit whose work is over.
    fn leave(&mut self, path: &Path, visit: &Visit, end: VisitEnd) -> Result<(), Over> {
        let node = self.node(visit);
        match end {
            VisitEnd::Done(value) => {
                let outcome = node.work.kind().yields().map(|name| (name, &value));
                match self.written(path, &node, outcome) {
                    Ok(writes) => {
                        writes.into_iter().for_each(|one| self.make(one));
                        self.follow(path, visit, &node, outcome)
                    }
                    Err(error) => self.fail(path, visit, &node, error),
                }
            }
            VisitEnd::Failed(error) => self.fail(path, visit, &node, error),
            VisitEnd::TimedOut => {
                let then = node.work.timeout().map(|timeout| timeout.then.clone());
                match then {
                    Some(to) => {
                        let visit = visit.clone();
                        self.make(Move::Leave { visit, to, when: None, error: None });
                        Ok(())
                    }
                    None => {
                        let error = Text::Expired.text(self.open.language());
                        self.fail(path, visit, &node, error)
                    }
                }
            }
        }
    }

    pub(super) fn node(&self, visit: &Visit) -> Node {
        let node = self.graph.node(&visit.node).cloned();
        node.expect("a visit is of a node of the workflow, because the fold checks each entry")
    }

    /// Evaluates the writes of a node and checks the values that the state would have.
    fn written(&self, path: &Path, node: &Node, outcome: Outcome<'_>) -> Result<Vec<Move>, String> {
        let (mut writes, mut after) = (Vec::new(), self.graph.state().clone());
        for (key, template) in &node.write {
            let value = self.scoped(path, outcome, |eval, scope| eval.value(template, scope))?;
            let reduced = self.graph.reduced(key, value.clone());
            let reduced = reduced.map_err(|why| format!("state.{key}: {why}"))?;
            self.fits_schema(key, &reduced)?;
            after.insert(key.clone(), reduced);
            writes.push(Move::Write { key: key.clone(), value });
        }
        self.fits_bound(after.values())?;
        Ok(writes)
    }

    /// Checks a value of the state against the schema of its key.
    pub(super) fn fits_schema(&self, key: &Key, value: &Value) -> Result<(), String> {
        let slot = self.graph.run().definition.state.get(key);
        let misfit = slot.and_then(|slot| schema::misfit(&slot.schema, value));
        misfit.map_or(Ok(()), |why| Err(format!("state.{key}: {why}")))
    }

    /// Checks the size of a state.
    pub(super) fn fits_bound<'v>(
        &self,
        values: impl Iterator<Item = &'v Value>,
    ) -> Result<(), String> {
        let max = STATE_BYTES_MAX;
        let bytes: usize = values.map(size).sum();
        let too_large = || Text::StateTooLarge { max: &max }.text(self.open.language());
        if bytes > max { Err(too_large()) } else { Ok(()) }
    }

    /// Takes the first way whose condition is true.
    pub(super) fn follow(
        &mut self,
        path: &Path,
        visit: &Visit,
        node: &Node,
        outcome: Outcome<'_>,
    ) -> Result<(), Over> {
        match self.route(path, node, outcome) {
            Ok((to, when)) => {
                self.make(Move::Leave { visit: visit.clone(), to, when, error: None });
                Ok(())
            }
            Err(error) => self.fail(path, visit, node, error),
        }
    }

    fn route(
        &self,
        path: &Path,
        node: &Node,
        outcome: Outcome<'_>,
    ) -> Result<(Target, Option<Expression>), String> {
        for route in &node.next {
            let is_taken = match &route.when {
                None => true,
                Some(when) => {
                    self.scoped(path, outcome, |eval, scope| eval.condition(when, scope))?
                }
            };
            if is_taken {
                return Ok((route.to.clone(), route.when.clone()));
            }
        }
        // A node without a way on is the last one of its path.
        Ok((Target::End, None))
    }

    /// Writes the values of a node without an outcome, and follows its way on.
    pub(super) fn write_and_follow(
        &mut self,
        path: &Path,
        visit: &Visit,
        node: &Node,
    ) -> Result<(), Over> {
        match self.written(path, node, None) {
            Ok(writes) => {
                writes.into_iter().for_each(|one| self.make(one));
                self.follow(path, visit, node, None)
            }
            Err(error) => self.fail(path, visit, node, error),
        }
    }

    /// Sends a path to the node for errors; without one the path fails.
    pub(super) fn fail(
        &mut self,
        path: &Path,
        visit: &Visit,
        node: &Node,
        error: String,
    ) -> Result<(), Over> {
        match &node.on_error {
            Some(to) => {
                let (visit, to, error) = (visit.clone(), to.clone(), Some(error));
                self.make(Move::Leave { visit, to, when: None, error });
                Ok(())
            }
            None => self.arrive(path, Some(visit), Some(error)),
        }
    }

    /// Returns the successful end of the workflow.
    pub(super) fn output(&self) -> WorkflowEnd {
        let output = match &self.graph.run().definition.output {
            None => Ok(self.graph.state_as_value()),
            Some(template) => self.evaluated_output(template),
        };
        match output.and_then(|output| self.within_bound(output)) {
            Ok(output) => WorkflowEnd::Completed { output },
            Err(message) => self.failed(None, &format!("output: {message}")),
        }
    }

    /// Checks the size of an output, which every view of the job has.
    pub(super) fn within_bound(&self, output: Value) -> Result<Value, String> {
        let max = OUTPUT_BYTES_MAX;
        match size(&output) > max {
            true => Err(Text::StateTooLarge { max: &max }.text(self.open.language())),
            false => Ok(output),
        }
    }

    pub(super) fn evaluated_output(&self, template: &TemplateValue) -> Result<Value, String> {
        self.scoped(&Path::Main, None, |eval, scope| eval.value(template, scope))
    }

    pub(super) fn failed(&self, last: Option<&Visit>, error: &str) -> WorkflowEnd {
        let message = match last {
            None => error.to_owned(),
            Some(visit) => {
                let node = visit.node.as_str();
                crate::text::step_failed(self.open.language(), node, error)
            }
        };
        WorkflowEnd::Failed { reason: FailReason::StepFailed, message }
    }
}

/// Returns the size of a value in bytes of JSON.
fn size(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(usize::MAX, |text| text.len())
}
