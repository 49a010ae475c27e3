//! The place of a workflow: the state, the paths, and the visits so far.
//!
//! A move changes the place without evaluating an expression. The planner applies each move that it
//! chooses to a copy, so its next choice and the fold see the same place.

mod editing;
mod request;
mod split;

use std::{collections::BTreeMap, sync::Arc};

use proto::{
    id::Seq,
    workflow::{
        EVENTS_MAX, Entered, EventName, Key, MAPS_DEEP_MAX, Move, Node, NodeId, Path, Paths,
        Target, Visit, Work, WorkKind, WorkflowEnd, WorkflowRun, apply,
    },
};
use serde_json::{Value, json};

pub use self::editing::EditRefusal;
use self::split::Arrival;
pub(crate) use self::{
    request::{EditRequest, EditWords},
    split::{Split, State},
};

/// A move that cannot follow the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unfit;

/// The place of a workflow.
#[derive(Debug, Clone)]
pub(crate) struct Graph {
    run: Arc<WorkflowRun>,
    state: Arc<State>,
    /// Visits by node and by the items of the maps around it.
    visits: BTreeMap<(NodeId, Vec<u32>), u32>,
    visited: u32,
    paths: BTreeMap<Path, Token>,
    advances: u32,
    /// Events that no node has received, by their number from 1; at most [`EVENTS_MAX`].
    events: BTreeMap<u32, Arc<Event>>,
    /// Number of the events so far.
    heard: u32,
    /// Number of changes of the graph: edits that came into force, and rollbacks that undid some.
    revision: u32,
    /// Edit that is not in force yet.
    requested: Option<Arc<EditRequest>>,
    /// Newest edit that is in force.
    newest_edit: Option<Arc<EditRequest>>,
    /// Signal of the newest edit that was decided on, and `true` if the edit came into force.
    decided_edit: Option<(Seq, bool)>,
    end: Option<WorkflowEnd>,
}

/// An event from outside.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) name: EventName,
    pub(crate) data: Value,
}

impl Event {
    /// Returns the event as expressions read it.
    pub(crate) fn as_value(&self) -> Value {
        json!({"name": self.name, "data": self.data})
    }
}

/// The token of a path.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) at: TokenAt,
    /// Visit that the path left last.
    pub(crate) last: Option<Visit>,
}

/// The place of a token.
#[derive(Debug, Clone)]
pub(crate) enum TokenAt {
    /// The path is about to enter a node.
    Before(NodeId),
    /// The path is at a visit.
    Visit(Visit),
    /// The path waits for those that began here.
    Split(Split),
    /// The main path has come to the end of the workflow.
    End,
}

impl Graph {
    /// The place before the first move: one path before `start`.
    pub(crate) fn new(run: Arc<WorkflowRun>) -> Self {
        let state = Arc::new(run.definition.initial_state());
        let at = TokenAt::Before(run.definition.start.clone());
        let main = Token { at, last: None };
        let paths = BTreeMap::from([(Path::Main, main)]);
        Self {
            run,
            state,
            visits: BTreeMap::new(),
            visited: 0,
            paths,
            advances: 0,
            events: BTreeMap::new(),
            heard: 0,
            revision: 0,
            requested: None,
            newest_edit: None,
            decided_edit: None,
            end: None,
        }
    }

    /// Keeps an event until a node receives it, and returns `true` unless no node of the workflow
    /// waits for its name or there is no room.
    pub(crate) fn keep_event(&mut self, name: &EventName, data: &Value) -> bool {
        if self.events.len() >= EVENTS_MAX || !self.run.definition.awaits(name) {
            return false;
        }
        self.heard = self.heard.saturating_add(1);
        let event = Event { name: name.clone(), data: data.clone() };
        self.events.insert(self.heard, Arc::new(event));
        true
    }

    /// Returns the events that no node has received, by number.
    pub(crate) fn events(&self) -> &BTreeMap<u32, Arc<Event>> {
        &self.events
    }

    pub(crate) fn run(&self) -> &WorkflowRun {
        &self.run
    }

    pub(crate) fn node(&self, id: &NodeId) -> Option<&Node> {
        self.run.definition.nodes.get(id)
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Returns the state as an object.
    pub(crate) fn state_as_value(&self) -> Value {
        let fields = self.state.iter().map(|(key, value)| (key.to_string(), value.clone()));
        Value::Object(fields.collect())
    }

    pub(crate) fn end(&self) -> Option<&WorkflowEnd> {
        self.end.as_ref()
    }

    /// Returns the number of visits of all nodes.
    pub(crate) fn visited(&self) -> u32 {
        self.visited
    }

    pub(crate) fn advances(&self) -> u32 {
        self.advances
    }

    pub(crate) fn count_advance(&mut self) {
        self.advances = self.advances.saturating_add(1);
    }

    pub(crate) fn paths(&self) -> &BTreeMap<Path, Token> {
        &self.paths
    }

    /// Returns the visits that have begun and that no path has left.
    pub(crate) fn open_visits(&self) -> impl Iterator<Item = &Visit> {
        self.paths.values().filter_map(|token| match &token.at {
            TokenAt::Visit(visit) => Some(visit),
            TokenAt::Split(split) => Some(&split.visit),
            TokenAt::Before(_) | TokenAt::End => None,
        })
    }

    /// Returns the path that is at a visit.
    pub(crate) fn path_at(&self, visit: &Visit) -> Option<&Path> {
        self.paths.iter().find(|(_, token)| token.is_at(visit)).map(|(path, _)| path)
    }

    /// Returns the split of a parallel or map node.
    pub(crate) fn split(&self, visit: &Visit) -> Option<&Split> {
        self.paths.values().find_map(|token| match &token.at {
            TokenAt::Split(split) if split.visit == *visit => Some(split),
            TokenAt::Split(_) | TokenAt::Before(_) | TokenAt::Visit(_) | TokenAt::End => None,
        })
    }

    /// Returns the state that expressions of a path see: inside of a map that of the moment of entry.
    pub(crate) fn seen_by(&self, path: &Path) -> &Arc<State> {
        let Path::Of { split: visit, .. } = path else { return &self.state };
        let Some(split) = self.split(visit) else { return &self.state };
        match (self.is_map(visit), self.path_at(visit)) {
            (true, _) => &split.state,
            (false, Some(holder)) => self.seen_by(holder),
            (false, None) => &self.state,
        }
    }

    /// Returns the items of the maps around a path.
    pub(crate) fn items_of(&self, path: &Path) -> Vec<u32> {
        let Path::Of { split, slot } = path else { return Vec::new() };
        let item = self.is_map(split).then_some(*slot);
        split.items.iter().copied().chain(item).collect()
    }

    fn is_map(&self, visit: &Visit) -> bool {
        self.node(&visit.node).is_some_and(|node| matches!(node.work, Work::Map(_)))
    }

    /// Returns the innermost map item of a path: the map node, the item and its number.
    pub(crate) fn item_of<'a>(&'a self, path: &'a Path) -> Option<(&'a NodeId, &'a Value, u32)> {
        let Path::Of { split, slot } = path else { return None };
        match self.is_map(split) {
            true => Some((&split.node, self.item(split, *slot)?, *slot)),
            false => self.item_of(self.path_at(split)?),
        }
    }

    /// Returns the visits that expressions of a path see, by node.
    pub(crate) fn visits_of(&self, path: &Path) -> BTreeMap<NodeId, u32> {
        let items = self.items_of(path);
        let seen = self.visits.iter().filter(|((_, of), _)| items.starts_with(of));
        seen.map(|((node, _), count)| (node.clone(), *count)).collect()
    }

    /// Returns the next visit of a node by a path.
    pub(crate) fn next_visit(&self, node: &NodeId, path: &Path) -> Visit {
        let items = self.items_of(path);
        let before = self.visits.get(&(node.clone(), items.clone())).copied().unwrap_or_default();
        Visit { node: node.clone(), number: before.saturating_add(1), items }
    }

    /// Returns the item of a map's path.
    pub(crate) fn item(&self, visit: &Visit, slot: u32) -> Option<&Value> {
        self.split(visit)?.items.get(usize::try_from(slot).ok()?)
    }

    /// Returns the value of a key after a write.
    pub(crate) fn reduced(&self, key: &Key, value: Value) -> Result<Value, String> {
        let slot = self.run.definition.state.get(key).ok_or_else(|| key.to_string())?;
        apply(slot.reduce, self.state.get(key), value).map_err(|error| error.to_string())
    }

    /// Returns the state with the values that the items of a map contributed.
    pub(crate) fn with_collected(&self, split: &Split) -> Result<State, String> {
        let mut state = State::clone(&self.state);
        for (key, value) in split.collected() {
            let slot = self.run.definition.state.get(key).ok_or_else(|| key.to_string())?;
            let value = apply(slot.reduce, state.get(key), value.clone());
            let value = value.map_err(|error| format!("state.{key}: {error}"))?;
            state.insert(key.clone(), value);
        }
        Ok(state)
    }

    /// Applies a move, and returns the visits that it cancels.
    ///
    /// # Errors
    /// Fails if the move cannot follow the ones before it.
    pub(crate) fn apply(&mut self, one: &Move) -> Result<Vec<Visit>, Unfit> {
        if self.end.is_some() {
            return Err(Unfit);
        }
        match one {
            Move::Enter { visit, path, work } => self.enter(visit, path, work)?,
            Move::Write { key, value } => {
                let value = self.reduced(key, value.clone()).map_err(|_| Unfit)?;
                Arc::make_mut(&mut self.state).insert(key.clone(), value);
            }
            Move::Receive { visit, event } => {
                let name = self.events.get(event).map(|event| &event.name).ok_or(Unfit)?;
                let awaited = self.node(&visit.node).and_then(|node| node.work.as_event());
                if awaited.is_none_or(|awaited| awaited.event != *name)
                    || self.path_at(visit).is_none()
                {
                    return Err(Unfit);
                }
                self.events.remove(event);
            }
            Move::Leave { visit, to, .. } => self.leave(visit, to)?,
            Move::Split { visit, paths, items } => self.begin_split(visit, *paths, items)?,
            Move::Arrive { path, error, collected } => {
                let arrival = Arrival { error: error.clone(), collected: collected.clone() };
                return self.arrive(path, arrival);
            }
            Move::Join { visit, failed } => return self.join(visit, *failed),
            Move::End { end } => {
                self.end = Some(end.clone());
                let open = self.open_visits().cloned().collect();
                self.paths.clear();
                return Ok(open);
            }
        }
        Ok(Vec::new())
    }

    fn enter(&mut self, visit: &Visit, path: &Path, work: &Entered) -> Result<(), Unfit> {
        if !self.paths.contains_key(path) {
            self.begin_item(path)?;
        }
        if visit.items.len() > MAPS_DEEP_MAX {
            return Err(Unfit);
        }
        if self.next_visit(&visit.node, path) != *visit || !self.is_work_of(visit, work) {
            return Err(Unfit);
        }
        let token = self.paths.get_mut(path).ok_or(Unfit)?;
        match &token.at {
            TokenAt::Before(node) if *node == visit.node => {
                token.at = TokenAt::Visit(visit.clone())
            }
            TokenAt::Before(_) | TokenAt::Visit(_) | TokenAt::Split(_) | TokenAt::End => {
                return Err(Unfit);
            }
        }
        self.visits.insert((visit.node.clone(), visit.items.clone()), visit.number);
        self.visited = self.visited.saturating_add(1);
        Ok(())
    }

    /// Begins the path of a map's next item.
    fn begin_item(&mut self, path: &Path) -> Result<(), Unfit> {
        let Path::Of { split: visit, slot } = path else { return Err(Unfit) };
        let Work::Map(map) = &self.node(&visit.node).ok_or(Unfit)?.work else { return Err(Unfit) };
        let at = TokenAt::Before(map.start.clone());
        let holder = self.path_at(visit).cloned().ok_or(Unfit)?;
        let Some(Token { at: TokenAt::Split(split), .. }) = self.paths.get_mut(&holder) else {
            return Err(Unfit);
        };
        if split.begun != *slot || *slot >= split.paths {
            return Err(Unfit);
        }
        split.begun = split.begun.saturating_add(1);
        self.paths.insert(path.clone(), Token { at, last: None });
        Ok(())
    }

    /// `true` if the type of the node is that of the work. A node whose values cannot be evaluated is
    /// entered without work, and left with the error.
    fn is_work_of(&self, visit: &Visit, work: &Entered) -> bool {
        let kind = match work {
            Entered::Passed => return self.node(&visit.node).is_some(),
            Entered::Model { .. } => WorkKind::Model,
            Entered::Tool { .. } => WorkKind::Tool,
            Entered::Agent { .. } | Entered::Child { .. } | Entered::Workflow { .. } => {
                WorkKind::Agent
            }
            Entered::Human { .. } => WorkKind::Human,
            Entered::Wait { .. } => WorkKind::Wait,
            Entered::Event { .. } => WorkKind::Event,
        };
        self.node(&visit.node).is_some_and(|node| node.work.kind() == kind)
    }

    fn leave(&mut self, visit: &Visit, to: &Target) -> Result<(), Unfit> {
        let path = self.path_at(visit).cloned().ok_or(Unfit)?;
        let at = match to {
            Target::Node(node) if self.node(node).is_some() => TokenAt::Before(node.clone()),
            Target::Node(_) => return Err(Unfit),
            Target::End => TokenAt::End,
        };
        let token = self.paths.get_mut(&path).ok_or(Unfit)?;
        let TokenAt::Visit(left) = std::mem::replace(&mut token.at, at) else { return Err(Unfit) };
        token.last = Some(left);
        Ok(())
    }

    fn begin_split(&mut self, visit: &Visit, paths: u32, items: &[Value]) -> Result<(), Unfit> {
        let holder = self.path_at(visit).cloned().ok_or(Unfit)?;
        let starts = match self.node(&visit.node).ok_or(Unfit)?.work.paths() {
            Some(Paths::Branches(parallel)) => {
                parallel.branches.iter().map(|branch| branch.start.clone()).collect()
            }
            Some(Paths::Items(_)) => Vec::new(),
            None => return Err(Unfit),
        };
        let begun = u32::try_from(starts.len()).unwrap_or(u32::MAX);
        let count = usize::try_from(paths).unwrap_or(usize::MAX);
        if count != if items.is_empty() { starts.len() } else { items.len() } {
            return Err(Unfit);
        }
        let token = self.paths.get_mut(&holder).ok_or(Unfit)?;
        let TokenAt::Visit(at) = &token.at else { return Err(Unfit) };
        let visit = at.clone();
        let (over, items, state) = (BTreeMap::new(), items.into(), Arc::clone(&self.state));
        token.at = TokenAt::Split(Split { visit: visit.clone(), paths, items, state, begun, over });
        for (slot, start) in (0..).zip(starts) {
            let path = Path::Of { split: visit.clone(), slot };
            self.paths.insert(path, Token { at: TokenAt::Before(start), last: None });
        }
        Ok(())
    }

    fn arrive(&mut self, path: &Path, arrival: Arrival) -> Result<Vec<Visit>, Unfit> {
        let Path::Of { split: visit, slot } = path else { return Err(Unfit) };
        let holder = self.path_at(visit).cloned().ok_or(Unfit)?;
        let token = self.paths.remove(path).ok_or(Unfit)?;
        let Some(Token { at: TokenAt::Split(split), .. }) = self.paths.get_mut(&holder) else {
            return Err(Unfit);
        };
        if split.over.insert(*slot, arrival).is_some() {
            return Err(Unfit);
        }
        Ok(match token.at {
            TokenAt::Visit(visit) => vec![visit],
            TokenAt::Split(split) => vec![split.visit],
            TokenAt::Before(_) | TokenAt::End => Vec::new(),
        })
    }

    /// Ends the paths of a split that have not ended, and those inside of them.
    fn join(&mut self, visit: &Visit, failed: bool) -> Result<Vec<Visit>, Unfit> {
        let split = self.split(visit).ok_or(Unfit)?;
        if !failed {
            self.state = Arc::new(self.with_collected(split).map_err(|_| Unfit)?);
        }
        let holder = self.path_at(visit).cloned().ok_or(Unfit)?;
        self.paths.get_mut(&holder).ok_or(Unfit)?.at = TokenAt::Visit(visit.clone());
        let (mut canceled, mut splits) = (Vec::new(), vec![visit.clone()]);
        while let Some(split) = splits.pop() {
            let below: Vec<Path> = self.paths.keys().filter(|p| p.is_of(&split)).cloned().collect();
            for path in below {
                match self.paths.remove(&path).map(|token| token.at) {
                    Some(TokenAt::Visit(visit)) => canceled.push(visit),
                    Some(TokenAt::Split(inner)) => {
                        splits.push(inner.visit.clone());
                        canceled.push(inner.visit);
                    }
                    Some(TokenAt::Before(_) | TokenAt::End) | None => {}
                }
            }
        }
        Ok(canceled)
    }
}

impl Token {
    fn is_at(&self, visit: &Visit) -> bool {
        match &self.at {
            TokenAt::Visit(at) => at == visit,
            TokenAt::Split(split) => split.visit == *visit,
            TokenAt::Before(_) | TokenAt::End => false,
        }
    }
}
