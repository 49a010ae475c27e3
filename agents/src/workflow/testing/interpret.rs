//! An interpreter of workflows for tests: one path at a time, with a script in place of models,
//! tools and people. It shares no code with the job machine.

use std::collections::{BTreeMap, VecDeque};

use proto::workflow::{
    End, Join, Key, Map, Node, NodeId, Target, TemplateValue, Work, Workflow, apply,
};
use serde_json::{Map as Object, Value};

use crate::workflow::evaluate::{EvalError, Evaluator, Item, Scope};

/// The part of the world in a test.
pub trait Script {
    /// Returns the outcome of a visit: its value, or [`Failure`] for a failure or, at a node with
    /// one, the timeout. Nodes without an outcome are not asked.
    ///
    /// # Errors
    /// Fails as the test wants.
    fn outcome(&mut self, visit: &Visit) -> Result<Value, Failure>;

    /// Chooses the visit that ends next, by its number in the list.
    fn pick(&mut self, ready: &[Ready]) -> usize;
}

/// The failure of a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The work failed for good.
    Error,
    /// The timeout or deadline of the node.
    Timeout,
}

/// A visit of a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Visit {
    /// Node.
    pub node: NodeId,
    /// Number of the visit, from 1. Visits with an item count for each item alone.
    pub visit: u32,
    /// Number of the item, from 0, inside the body of a map.
    pub item: Option<usize>,
}

/// A visit that can end next.
pub type Ready = Visit;

/// The end of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    /// Success, with the output.
    Output(Value),
    /// A node of type `end` with this reason.
    Failed(String),
    /// A failure without `on_error`, at this node.
    Error(NodeId),
    /// More visits than `limits` allow.
    Limit,
    /// An expression failed.
    Expression(String),
}

/// The run of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Visits in the order in which they ended.
    pub trace: Vec<Visit>,
    /// Writes in their order.
    pub writes: Vec<(Key, Value)>,
    /// State at the end.
    pub state: BTreeMap<Key, Value>,
    /// End of the run.
    pub ended: Ended,
}

/// Runs a workflow.
pub fn run(workflow: &Workflow, input: &Value, script: &mut impl Script) -> Run {
    let mut interpreter = Interpreter {
        workflow,
        input,
        evaluator: Evaluator::new(),
        state: workflow.initial_state(),
        visits: BTreeMap::new(),
        steps: 0,
        tokens: Vec::new(),
        groups: Vec::new(),
        trace: Vec::new(),
        writes: Vec::new(),
    };
    let ended = match interpreter.run(script) {
        Ok(ended) | Err(Stop(ended)) => ended,
    };
    let Interpreter { state, trace, writes, .. } = interpreter;
    Run { trace, writes, state, ended }
}

/// The early end of a run.
struct Stop(Ended);

impl From<EvalError> for Stop {
    fn from(error: EvalError) -> Self {
        Self(Ended::Expression(error.to_string()))
    }
}

/// A path at a node whose work has begun.
#[derive(Clone)]
struct Token {
    at: Visit,
    /// Groups around the token, the innermost last.
    within: Vec<usize>,
}

/// A parallel or map node in progress.
struct Group {
    node: NodeId,
    within: Vec<usize>,
    item_of: Option<usize>,
    join: Join,
    paths: usize,
    succeeded: usize,
    failed: usize,
    is_over: bool,
    /// Items that have not begun, state at entry and collected values of a map.
    waiting: VecDeque<usize>,
    items: Vec<Value>,
    entry: BTreeMap<Key, Value>,
    collected: BTreeMap<usize, Vec<(Key, Value)>>,
}

struct Interpreter<'a> {
    workflow: &'a Workflow,
    input: &'a Value,
    evaluator: Evaluator,
    state: BTreeMap<Key, Value>,
    visits: BTreeMap<(NodeId, Option<usize>), u32>,
    steps: u32,
    tokens: Vec<Token>,
    groups: Vec<Group>,
    trace: Vec<Visit>,
    writes: Vec<(Key, Value)>,
}

impl Interpreter<'_> {
    fn run(&mut self, script: &mut impl Script) -> Result<Ended, Stop> {
        let start = Target::Node(self.workflow.start.clone());
        if let Some(ended) = self.go(&start, Vec::new(), None, None)? {
            return Ok(ended);
        }
        loop {
            let ready: Vec<Ready> = self.tokens.iter().map(|token| token.at.clone()).collect();
            if ready.is_empty() {
                return Err(Stop(Ended::Limit));
            }
            let picked = script.pick(&ready) % ready.len();
            let token = self.tokens.remove(picked);
            if let Some(ended) = self.end(token, script)? {
                return Ok(ended);
            }
        }
    }

    fn node(&self, id: &NodeId) -> Result<Node, Stop> {
        self.workflow.nodes.get(id).cloned().ok_or_else(|| Stop(Ended::Error(id.clone())))
    }

    /// Moves a path to a target.
    fn go(
        &mut self,
        to: &Target,
        within: Vec<usize>,
        item: Option<usize>,
        last: Option<(&Node, &Value)>,
    ) -> Result<Option<Ended>, Stop> {
        let Target::Node(id) = to else { return self.arrive(&within, item, true, last) };
        self.steps += 1;
        let visit = self.visits.entry((id.clone(), item)).or_default();
        *visit += 1;
        let visit = *visit;
        let limits = &self.workflow.limits;
        if self.steps > limits.steps || visit > limits.visits {
            return Err(Stop(Ended::Limit));
        }
        let at = Visit { node: id.clone(), visit, item };
        let node = self.node(id)?;
        match &node.work {
            Work::Parallel(parallel) => {
                self.trace.push(at);
                let number =
                    self.open(id, within.clone(), item, parallel.join, parallel.branches.len());
                for branch in &parallel.branches {
                    let inner = within.iter().copied().chain([number]).collect();
                    let ended = self.go(&Target::Node(branch.start.clone()), inner, item, None)?;
                    if ended.is_some() || self.is_over(number) {
                        return Ok(ended);
                    }
                }
                Ok(None)
            }
            Work::Map(map) => {
                self.trace.push(at);
                self.begin_map(id, map, within, item)
            }
            Work::End(end) => {
                self.trace.push(at);
                self.finish(end).map(Some)
            }
            Work::Set {} | Work::Branch {} => {
                self.trace.push(at);
                self.leave(id, &node, within, item, None)
            }
            Work::Model(_)
            | Work::Tool(_)
            | Work::Agent(_)
            | Work::Human(_)
            | Work::Wait(_)
            | Work::Event(_) => {
                self.tokens.push(Token { at, within });
                Ok(None)
            }
        }
    }

    fn is_over(&self, group: usize) -> bool {
        self.groups.get(group).is_none_or(|group| group.is_over)
    }

    fn open(
        &mut self,
        node: &NodeId,
        within: Vec<usize>,
        item_of: Option<usize>,
        join: Join,
        paths: usize,
    ) -> usize {
        self.groups.push(Group {
            node: node.clone(),
            within,
            item_of,
            join,
            paths,
            succeeded: 0,
            failed: 0,
            is_over: false,
            waiting: VecDeque::new(),
            items: Vec::new(),
            entry: self.state.clone(),
            collected: BTreeMap::new(),
        });
        self.groups.len() - 1
    }

    fn begin_map(
        &mut self,
        id: &NodeId,
        map: &Map,
        within: Vec<usize>,
        item: Option<usize>,
    ) -> Result<Option<Ended>, Stop> {
        let items = self.scoped(&within, item, None, |evaluator, scope| {
            evaluator.items(&map.over, map.max_items, scope)
        });
        let items = items?;
        let number = self.open(id, within, item, map.join, items.len());
        let parallel = usize::try_from(map.max_parallel).unwrap_or(usize::MAX);
        if let Some(group) = self.groups.get_mut(number) {
            group.waiting = (0..items.len()).collect();
            group.items = items;
        }
        if self.groups.get(number).is_some_and(|group| group.items.is_empty()) {
            return self.settle(number);
        }
        for _ in 0..parallel {
            if let Some(ended) = self.next_item(number)? {
                return Ok(Some(ended));
            }
        }
        Ok(None)
    }

    fn next_item(&mut self, number: usize) -> Result<Option<Ended>, Stop> {
        let Some(group) = self.groups.get_mut(number).filter(|group| !group.is_over) else {
            return Ok(None);
        };
        let Some(item) = group.waiting.pop_front() else { return Ok(None) };
        let within = group.within.iter().copied().chain([number]).collect();
        let node = group.node.clone();
        let Work::Map(map) = self.node(&node)?.work else { return Ok(None) };
        self.go(&Target::Node(map.start), within, Some(item), None)
    }

    /// Ends the visit of a token.
    fn end(&mut self, token: Token, script: &mut impl Script) -> Result<Option<Ended>, Stop> {
        let Token { at, within } = token;
        let node = self.node(&at.node)?;
        self.trace.push(at.clone());
        let is_wait = matches!(node.work, Work::Wait(_));
        // A script follows its visits one by one, so it has an outcome of a pause too.
        let outcome = script.outcome(&at);
        let outcome = if is_wait { Ok(Value::Null) } else { outcome };
        match outcome {
            Ok(value) => self.leave(&at.node, &node, within, at.item, Some(&value)),
            Err(Failure::Timeout) if node.work.timeout().is_some() => {
                let then = node.work.timeout().map_or(Target::End, |timeout| timeout.then.clone());
                self.go(&then, within, at.item, None)
            }
            Err(Failure::Error | Failure::Timeout) => self.fail(&at.node, &node, within, at.item),
        }
    }

    fn fail(
        &mut self,
        id: &NodeId,
        node: &Node,
        within: Vec<usize>,
        item: Option<usize>,
    ) -> Result<Option<Ended>, Stop> {
        match &node.on_error {
            Some(target) => self.go(&target.clone(), within, item, None),
            None if within.is_empty() => Ok(Some(Ended::Error(id.clone()))),
            None => self.arrive(&within, item, false, None),
        }
    }

    /// Writes and takes the route of a node whose work has ended. A node whose expressions cannot be
    /// evaluated has failed.
    fn leave(
        &mut self,
        id: &NodeId,
        node: &Node,
        within: Vec<usize>,
        item: Option<usize>,
        outcome: Option<&Value>,
    ) -> Result<Option<Ended>, Stop> {
        let seen = outcome.map(|value| (node, value));
        match self.route(node, &within, item, seen) {
            Ok(to) => self.go(&to, within, item, seen),
            Err(Stop(Ended::Expression(_))) => self.fail(id, node, within, item),
            Err(stop) => Err(stop),
        }
    }

    /// Writes the values of a node, and returns where its path goes on.
    fn route(
        &mut self,
        node: &Node,
        within: &[usize],
        item: Option<usize>,
        seen: Option<(&Node, &Value)>,
    ) -> Result<Target, Stop> {
        let mut writes = Vec::new();
        for (key, value) in &node.write {
            let value = self.evaluate(value, within, item, seen)?;
            writes.push((key.clone(), value));
        }
        self.write(writes)?;
        for route in &node.next {
            let is_taken = match &route.when {
                None => true,
                Some(when) => self.scoped(within, item, seen, |evaluator, scope| {
                    evaluator.condition(when, scope)
                })?,
            };
            if is_taken {
                return Ok(route.to.clone());
            }
        }
        Err(Stop(Ended::Limit))
    }

    fn write(&mut self, writes: Vec<(Key, Value)>) -> Result<(), Stop> {
        for (key, value) in writes {
            let Some(slot) = self.workflow.state.get(&key) else { continue };
            let new = apply(slot.reduce, self.state.get(&key), value.clone())
                .map_err(|error| Stop(Ended::Expression(error.to_string())))?;
            self.state.insert(key.clone(), new);
            self.writes.push((key, value));
        }
        Ok(())
    }

    /// Counts a path that has arrived at the join of its innermost group.
    fn arrive(
        &mut self,
        within: &[usize],
        item: Option<usize>,
        succeeded: bool,
        last: Option<(&Node, &Value)>,
    ) -> Result<Option<Ended>, Stop> {
        let Some(number) = within.last().copied() else {
            return self.finish(&End::Output(None)).map(Some);
        };
        let id = self.groups.get(number).map(|group| group.node.clone());
        let node = id.map(|id| self.node(&id)).transpose()?;
        if let Some(Work::Map(map)) = node.map(|node| node.work) {
            let mut values = Vec::new();
            if succeeded {
                for (key, value) in &map.collect {
                    let value = self.evaluate(value, within, item, last)?;
                    values.push((key.clone(), value));
                }
            }
            if let (Some(group), Some(item)) = (self.groups.get_mut(number), item) {
                group.collected.insert(item, values);
            }
        }
        if let Some(group) = self.groups.get_mut(number) {
            if succeeded { group.succeeded += 1 } else { group.failed += 1 }
        }
        if let Some(ended) = self.settle(number)? {
            return Ok(Some(ended));
        }
        self.next_item(number)
    }

    /// Goes on after a group if its join has enough paths, or can no longer have enough.
    fn settle(&mut self, number: usize) -> Result<Option<Ended>, Stop> {
        let Some(group) = self.groups.get_mut(number).filter(|group| !group.is_over) else {
            return Ok(None);
        };
        let needed = group.join.needed(group.paths);
        let has_enough = group.succeeded >= needed;
        let cannot = group.paths - group.failed < needed;
        if !has_enough && !cannot {
            return Ok(None);
        }
        group.is_over = true;
        let collected: Vec<_> =
            std::mem::take(&mut group.collected).into_values().flatten().collect();
        let (id, within, item) = (group.node.clone(), group.within.clone(), group.item_of);
        self.tokens.retain(|token| !token.within.contains(&number));
        for group in &mut self.groups {
            group.is_over |= group.within.contains(&number);
        }
        let node = self.node(&id)?;
        if has_enough {
            self.write(collected)?;
            self.leave(&id, &node, within, item, None)
        } else {
            self.fail(&id, &node, within, item)
        }
    }

    fn finish(&self, end: &End) -> Result<Ended, Stop> {
        match end {
            End::Fail(reason) => {
                let text = self.scoped(&[], None, None, |e, scope| e.text(reason, scope))?;
                Ok(Ended::Failed(text))
            }
            End::Output(output) => match output.as_ref().or(self.workflow.output.as_ref()) {
                Some(output) => Ok(Ended::Output(self.evaluate(output, &[], None, None)?)),
                None => {
                    let fields =
                        self.state.iter().map(|(key, value)| (key.to_string(), value.clone()));
                    Ok(Ended::Output(Value::Object(fields.collect::<Object<_, _>>())))
                }
            },
        }
    }

    fn evaluate(
        &self,
        value: &TemplateValue,
        within: &[usize],
        item: Option<usize>,
        outcome: Option<(&Node, &Value)>,
    ) -> Result<Value, Stop> {
        Ok(self.scoped(within, item, outcome, |evaluator, scope| evaluator.value(value, scope))?)
    }

    /// Evaluates with the scope of a path. The body of a map sees the state at the entry of the map.
    fn scoped<T>(
        &self,
        within: &[usize],
        item: Option<usize>,
        outcome: Option<(&Node, &Value)>,
        evaluate: impl FnOnce(&Evaluator, &Scope<'_>) -> Result<T, EvalError>,
    ) -> Result<T, EvalError> {
        let mut maps = within.iter().rev().filter_map(|number| self.groups.get(*number));
        let group = maps.find_map(|group| {
            let node = self.workflow.nodes.get(&group.node)?;
            if let Work::Map(map) = &node.work { Some((group, map)) } else { None }
        });
        let visits = self
            .visits
            .iter()
            .filter(|((_, of), _)| of.is_none() || *of == item)
            .map(|((node, _), count)| (node.clone(), *count))
            .collect();
        let item = group.zip(item).and_then(|((group, map), index)| {
            Some(Item { name: &map.item, value: group.items.get(index)?, index })
        });
        let state = group.map_or(&self.state, |(group, _)| &group.entry);
        let outcome = outcome.and_then(|(node, value)| Some((node.work.kind().yields()?, value)));
        let scope = Scope { input: self.input, state, visits: &visits, item, outcome };
        evaluate(&self.evaluator, &scope)
    }
}
