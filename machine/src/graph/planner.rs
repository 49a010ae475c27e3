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
        Agent, AgentTask, Expression, Key, MOVES_MAX, Map, Move, Node, NodeId, Path,
        STATE_BYTES_MAX, STATE_KEYS_MAX, Target, TemplateValue, Visit, Work, WorkflowEnd, Yield,
    },
};
use serde::Serialize;
use serde_json::{Map as Fields, Value};

use crate::{
    nodes::VisitEnd,
    state::{ActiveJob, Graph, Split, TokenAt},
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
}

/// A place at which the workflow can go on.
pub(super) enum Due {
    Enter(Path, NodeId),
    Left(Path, Visit, VisitEnd),
    Arrived(Path),
    Item(Visit, u32),
}

/// The outcome of a node, for its expressions.
pub(super) type Outcome<'a> = Option<(Yield, &'a Value)>;

/// The end of a workflow, as an error of the choice that meets it.
pub(super) struct Over(pub(super) WorkflowEnd);

impl<'a> Planner<'a> {
    pub(super) fn new(open: &'a ActiveJob, graph: &Graph, now: Timestamp) -> Self {
        let evaluator = Evaluator::new();
        Self {
            open,
            graph: graph.clone(),
            now,
            evaluator,
            moves: Vec::new(),
            bytes: 0,
            entering: None,
        }
    }

    /// Returns the moves that can be made now, bounded by [`MOVES_MAX`] and [`ADVANCE_BYTES_MAX`].
    pub(super) fn moves(mut self) -> Vec<Move> {
        let has_room =
            |it: &Self| it.moves.len() + ROOM <= MOVES_MAX && it.bytes < ADVANCE_BYTES_MAX;
        while self.graph.end().is_none() && has_room(&self) {
            let Some(due) = due(self.open, &self.graph) else { break };
            let done = match due {
                Due::Enter(path, node) => self.enter(&path, &node),
                Due::Left(path, visit, end) => self.leave(&path, &visit, end),
                Due::Arrived(path) => self.arrive(&path, None, None),
                Due::Item(visit, slot) => self.begin_item(&visit, slot),
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

    /// Leaves a visit whose work is over.
    fn leave(&mut self, path: &Path, visit: &Visit, end: VisitEnd) -> Result<(), Over> {
        let node = self.node(visit);
        match end {
            VisitEnd::Done(value) => {
                let value = said(&node.work, value);
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
    fn fits_schema(&self, key: &Key, value: &Value) -> Result<(), String> {
        let slot = self.graph.run().definition.state.get(key);
        let misfit = slot.and_then(|slot| schema::misfit(&slot.schema, value));
        misfit.map_or(Ok(()), |why| Err(format!("state.{key}: {why}")))
    }

    /// Checks the size of a state.
    fn fits_bound<'v>(&self, values: impl Iterator<Item = &'v Value>) -> Result<(), String> {
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

    /// Ends a path: the main one with the workflow, another one at its join.
    fn arrive(
        &mut self,
        path: &Path,
        last: Option<&Visit>,
        error: Option<String>,
    ) -> Result<(), Over> {
        let Path::Of { split: visit, .. } = path else {
            return Err(Over(match error {
                None => self.output(),
                Some(message) => self.failed(last, &message),
            }));
        };
        let node = self.node(visit);
        let (error, collected) = match error {
            Some(error) => (Some(error), BTreeMap::new()),
            None => match self.collect(path, &node) {
                Ok(collected) => (None, collected),
                Err(error) => (Some(error), BTreeMap::new()),
            },
        };
        self.make(Move::Arrive { path: path.clone(), error, collected });
        self.settle_join(visit, &node)
    }

    /// Evaluates the values that an item of a map contributes.
    fn collect(&self, path: &Path, node: &Node) -> Result<BTreeMap<Key, Value>, String> {
        let Work::Map(map) = &node.work else { return Ok(BTreeMap::new()) };
        let last = self.last_outcome(path);
        let outcome = last.as_ref().map(|(name, value)| (*name, value));
        let each = map.collect.iter().map(|(key, template)| {
            let value = self.scoped(path, outcome, |eval, scope| eval.value(template, scope))?;
            Ok((key.clone(), value))
        });
        let collected = each.collect::<Result<BTreeMap<_, _>, String>>()?;
        self.fits_bound(collected.values())?;
        Ok(collected)
    }

    /// Returns the outcome of the node that a path visited last.
    fn last_outcome(&self, path: &Path) -> Option<(Yield, Value)> {
        let visit = self.graph.paths().get(path)?.last.as_ref()?;
        let name = self.graph.node(&visit.node)?.work.kind().yields()?;
        match self.open.step_of(visit)?.visit_end()? {
            VisitEnd::Done(value) => Some((name, said(&self.node(visit).work, value))),
            VisitEnd::Failed(_) | VisitEnd::TimedOut => None,
        }
    }

    /// Joins the paths of a split that has what it waits for, or can no longer have it.
    pub(super) fn settle_join(&mut self, visit: &Visit, node: &Node) -> Result<(), Over> {
        let Some(split) = self.graph.split(visit) else { return Ok(()) };
        let join = match &node.work {
            Work::Parallel(parallel) => parallel.join,
            Work::Map(map) => map.join,
            Work::Model(_)
            | Work::Tool(_)
            | Work::Agent(_)
            | Work::Human(_)
            | Work::Branch {}
            | Work::Wait(_)
            | Work::Event(_)
            | Work::Set {}
            | Work::End(_) => return Ok(()),
        };
        let needed = join.needed(usize::try_from(split.paths).unwrap_or(usize::MAX));
        let good = split.succeeded();
        let is_met = good >= needed;
        if !is_met && good.saturating_add(split.open()) >= needed {
            return Ok(());
        }
        let error = split.first_error().map(str::to_owned);
        let error = match (is_met, error) {
            (true, _) => self.collected_fit(split, node).err(),
            (false, Some(error)) => Some(error),
            (false, None) => {
                let text = Text::TooFewPaths { good: &good, needed: &needed };
                Some(text.text(self.open.language()))
            }
        };
        let path = self.graph.path_at(visit).cloned();
        let path = path.expect("a split is held by a path");
        self.make(Move::Join { visit: visit.clone(), failed: error.is_some() });
        match error {
            Some(error) => self.fail(&path, visit, node, error),
            None => self.follow(&path, visit, node, None),
        }
    }

    /// Checks the state that would hold the values of a map's items.
    fn collected_fit(&self, split: &Split, node: &Node) -> Result<(), String> {
        let Work::Map(map) = &node.work else { return Ok(()) };
        let state = self.graph.with_collected(split)?;
        for key in map.collect.keys() {
            let Some(value) = state.get(key) else { continue };
            self.fits_schema(key, value)?;
        }
        self.fits_bound(state.values())
    }

    /// Returns the successful end of the workflow.
    fn output(&self) -> WorkflowEnd {
        let output = match &self.graph.run().definition.output {
            None => Ok(state_as_value(&self.graph)),
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

    fn failed(&self, last: Option<&Visit>, error: &str) -> WorkflowEnd {
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

/// Returns the place at which the workflow goes on. A path that is on its way goes as far as it can
/// before another one begins.
pub(super) fn due(open: &ActiveJob, graph: &Graph) -> Option<Due> {
    on_its_way(graph, &Path::Main).or_else(|| {
        graph.paths().iter().find_map(|(path, token)| {
            let TokenAt::Visit(visit) = &token.at else { return None };
            let end = open.step_of(visit)?.visit_end()?;
            Some(Due::Left(path.clone(), visit.clone(), end))
        })
    })
}

/// Returns the first place at which a path, or one inside of it, goes on without an end of work.
fn on_its_way(graph: &Graph, path: &Path) -> Option<Due> {
    match &graph.paths().get(path)?.at {
        TokenAt::Before(node) => Some(Due::Enter(path.clone(), node.clone())),
        TokenAt::End => Some(Due::Arrived(path.clone())),
        TokenAt::Visit(_) => None,
        TokenAt::Split(split) => {
            let inner = |slot| Path::Of { split: split.visit.clone(), slot };
            let inner = (0..split.begun).find_map(|slot| on_its_way(graph, &inner(slot)));
            inner.or_else(|| next_item(graph, split))
        }
    }
}

fn next_item(graph: &Graph, split: &Split) -> Option<Due> {
    let Work::Map(map) = &graph.node(&split.visit.node)?.work else { return None };
    let room = split.running() < usize::try_from(map.max_parallel).unwrap_or(usize::MAX);
    let is_due = room && split.begun < split.paths;
    is_due.then(|| Due::Item(split.visit.clone(), split.begun))
}

pub(super) fn state_as_value(graph: &Graph) -> Value {
    let fields = graph.state().iter().map(|(key, value)| (key.to_string(), value.clone()));
    Value::Object(fields.collect::<Fields<_, _>>())
}

/// Returns the result of a node as its expressions read it: of a child job its structured result, or
/// its answer in words.
fn said(work: &Work, mut value: Value) -> Value {
    let Work::Agent(Agent { does: AgentTask::Named { .. } | AgentTask::Workflow { .. } }) = work
    else {
        return value;
    };
    match (value["value"].take(), value["response"].take()) {
        (Value::Null, response) => response,
        (structured, _) => structured,
    }
}

/// Returns the size of a value in bytes of JSON.
fn size(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(usize::MAX, |text| text.len())
}
