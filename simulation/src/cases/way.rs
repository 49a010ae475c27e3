//! The way of a case through its workflow: the visits, the routes, and the state at the end, from the
//! moves that the log records.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use proto::{
    decision::{Decision, Note},
    entry::Entry,
    workflow::{Key, Move, NodeId, Path, Target, Workflow, WorkflowEnd, apply},
};
use serde::Serialize;
use serde_json::{Map, Value};

/// A workflow under test: its file, and the checked definition.
#[derive(Debug, Clone)]
pub struct TestedWorkflow {
    /// Text of the file, which cases submit.
    pub source: String,
    /// Definition that the text says.
    pub definition: Workflow,
}

/// The way of a run through its workflow.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Way {
    /// Visited nodes, in the order of their entries. A log has at most `limits.steps` of them.
    pub visits: Vec<String>,
    /// Routes that were taken.
    pub routes: BTreeSet<Route>,
    /// State at the end.
    pub state: Value,
    /// Output; `null` if the workflow did not succeed.
    pub output: Value,
}

/// A way from a node to the next one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Route {
    /// Node that is left.
    pub from: NodeId,
    /// Next node, or `end`.
    pub to: String,
    /// Reason of the choice.
    #[serde(flatten)]
    pub by: By,
}

/// The reason of a choice.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case", tag = "by", content = "when")]
pub enum By {
    /// The condition was true.
    When(String),
    /// No condition before it was true, or the node has only this way.
    Otherwise,
    /// The work failed.
    OnError,
    /// The time was up.
    Timeout,
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} → {}", self.from, self.to)?;
        match &self.by {
            By::When(when) => write!(f, " (when: {when})"),
            By::Otherwise => Ok(()),
            By::OnError => f.write_str(" (on_error)"),
            By::Timeout => f.write_str(" (timeout)"),
        }
    }
}

/// Returns every route of a workflow, in the order of its nodes. The end of a branch, of an item or of
/// the workflow behind a node without `next` is one.
#[must_use]
pub fn routes(workflow: &Workflow) -> Vec<Route> {
    let mut all = Vec::new();
    for (id, node) in &workflow.nodes {
        let mut add = |to: &Target, by| {
            all.push(Route { from: id.clone(), to: to.to_string(), by });
        };
        for route in &node.next {
            let when = route.when.as_ref().map(|when| By::When(when.as_str().to_owned()));
            add(&route.to, when.unwrap_or(By::Otherwise));
        }
        if node.next.is_empty() && !matches!(node.work, proto::workflow::Work::End(_)) {
            add(&Target::End, By::Otherwise);
        }
        if let Some(to) = &node.on_error {
            add(to, By::OnError);
        }
        if let Some(timeout) = node.work.timeout() {
            add(&timeout.then, By::Timeout);
        }
    }
    all
}

/// Returns the routes of a workflow that no run took.
pub fn never_taken<'a>(workflow: &Workflow, ways: impl Iterator<Item = &'a Way>) -> Vec<Route> {
    let taken: BTreeSet<&Route> = ways.flat_map(|way| &way.routes).collect();
    routes(workflow).into_iter().filter(|route| !taken.contains(route)).collect()
}

/// Returns the way that a log records. Rollbacks are no part of cases.
pub(super) fn of(workflow: &Workflow, entries: &[Entry]) -> Way {
    let mut walk = Walk {
        workflow,
        way: Way::default(),
        state: workflow.initial_state(),
        collected: BTreeMap::new(),
    };
    for decision in entries.iter().filter_map(Entry::decision) {
        if let Decision::Note(Note::Advanced(advance)) = decision {
            advance.moves.iter().for_each(|one| walk.take(one));
        }
    }
    let Walk { mut way, state, .. } = walk;
    let fields = state.into_iter().map(|(key, value)| (key.to_string(), value));
    way.state = Value::Object(fields.collect::<Map<_, _>>());
    way
}

struct Walk<'a> {
    workflow: &'a Workflow,
    way: Way,
    state: BTreeMap<Key, Value>,
    /// Values that items of maps contribute, by path.
    collected: BTreeMap<Path, BTreeMap<Key, Value>>,
}

impl Walk<'_> {
    fn take(&mut self, one: &Move) {
        match one {
            Move::Enter { visit, .. } => self.way.visits.push(visit.node.to_string()),
            Move::Write { key, value } => self.write(key, value),
            Move::Leave { visit, to, when, error } => {
                let node = self.workflow.nodes.get(&visit.node);
                let is_way_on = node.is_some_and(|node| {
                    let is_last = node.next.is_empty() && *to == Target::End;
                    is_last || node.next.iter().any(|route| route.to == *to && route.when.is_none())
                });
                let by = match (when, error) {
                    (Some(when), _) => By::When(when.as_str().to_owned()),
                    (None, Some(_)) => By::OnError,
                    (None, None) if is_way_on => By::Otherwise,
                    (None, None) => By::Timeout,
                };
                self.way.routes.insert(Route { from: visit.node.clone(), to: to.to_string(), by });
            }
            Move::Arrive { path, error: None, collected } => {
                self.collected.insert(path.clone(), collected.clone());
            }
            Move::Join { visit, failed: false } => {
                // The paths of a split are in the order of their numbers.
                let all = std::mem::take(&mut self.collected);
                let (own, rest) = all.into_iter().partition(|(path, _)| path.is_of(visit));
                self.collected = rest;
                let own: BTreeMap<Path, BTreeMap<Key, Value>> = own;
                let values = own.values().flatten();
                values.for_each(|(key, value)| self.write(key, value));
            }
            Move::End { end: WorkflowEnd::Completed { output } } => {
                self.way.output = output.clone();
            }
            Move::Receive { .. }
            | Move::Split { .. }
            | Move::Arrive { error: Some(_), .. }
            | Move::Join { failed: true, .. }
            | Move::End { end: WorkflowEnd::Failed { .. } } => {}
        }
    }

    fn write(&mut self, key: &Key, value: &Value) {
        let slot = self.workflow.state.get(key);
        let reduced = slot.map(|slot| apply(slot.reduce, self.state.get(key), value.clone()));
        // The machine records only writes that their reducer takes.
        if let Some(Ok(value)) = reduced {
            self.state.insert(key.clone(), value);
        }
    }
}
