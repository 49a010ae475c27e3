//! The replacement of a graph while paths are on their way through it.
//!
//! Work that has begun goes on as it was entered. Its writes and its way on, and all that begins
//! later, follow the new graph.

use std::{collections::BTreeMap, sync::Arc};

use proto::{
    id::Seq,
    workflow::{
        Agent, AgentTask, Key, NodeId, Path, Region, StateSlot, Work, Workflow, WorkflowName,
        WorkflowRun,
    },
};
use serde_json::Value;

use super::{Graph, State, TokenAt, request::EditRequest};

/// The reason why a graph cannot be replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditRefusal {
    /// The job runs no workflow.
    NoWorkflow,
    /// The workflow has ended.
    Ended,
    /// The graph has changed since the sender looked at it.
    Stale {
        /// Number of changes of the graph.
        revision: u32,
    },
    /// Another edit was requested and is not in force yet.
    Pending,
    /// The new graph is that of another workflow.
    OtherName {
        /// Name of the job's workflow.
        name: WorkflowName,
    },
    /// A path is at this node, and the new graph lacks it, has other work there, or has it in
    /// another branch.
    Stranded {
        /// Node of the path.
        node: NodeId,
    },
    /// The new graph lacks this key of the state, or combines its values in another way.
    State {
        /// Key of the state.
        key: Key,
    },
    /// The job's agent may not call a tool of the new graph.
    NotGranted {
        /// Reason, in the language of the job.
        why: String,
    },
    /// A node names this one, which does not exist.
    Missing {
        /// Node that does not exist.
        node: NodeId,
    },
}

impl Graph {
    /// Returns the number of changes of the graph: edits that came into force, and rollbacks that
    /// undid some.
    pub(crate) fn revision(&self) -> u32 {
        self.revision
    }

    /// Returns the edit that is not in force yet.
    pub(crate) fn requested_edit(&self) -> Option<&EditRequest> {
        self.requested.as_deref()
    }

    /// Returns `true` if the edit of this signal was the newest one to be decided on, and came into
    /// force.
    pub(crate) fn took_up(&self, signal: Seq) -> bool {
        self.decided_edit == Some((signal, true))
    }

    /// Returns the newest edit that is in force.
    pub(crate) fn newest_edit(&self) -> Option<&EditRequest> {
        self.newest_edit.as_deref()
    }

    /// Counts the rollback from a place as a change of the graph, if it undoes an edit.
    pub(crate) fn go_back_from(&mut self, now: &Self) {
        if self.revision != now.revision {
            self.revision = now.revision.saturating_add(1);
        }
    }

    /// Keeps an edit until it comes into force.
    pub(crate) fn request_edit(&mut self, request: EditRequest) {
        self.requested = Some(Arc::new(request));
    }

    /// Forgets who edited the graph, and drops the edit that is not in force yet. A fork keeps the
    /// graph alone: the positions are those of another log.
    pub(crate) fn forget_edits(&mut self) {
        (self.requested, self.newest_edit, self.decided_edit) = (None, None, None);
    }

    /// Returns the reason why the graph cannot be replaced by that of `run`, or `None`.
    pub(crate) fn refuses_edit(&self, base: u32, run: &WorkflowRun) -> Option<EditRefusal> {
        if self.end.is_some() {
            return Some(EditRefusal::Ended);
        }
        if self.requested.is_some() {
            return Some(EditRefusal::Pending);
        }
        if base != self.revision {
            return Some(EditRefusal::Stale { revision: self.revision });
        }
        self.misfit(run)
    }

    /// Returns the reason why paths or values have no place in the graph of `run`, or `None`.
    fn misfit(&self, run: &WorkflowRun) -> Option<EditRefusal> {
        let (old, new) = (&self.run.definition, &run.definition);
        if old.name != new.name {
            return Some(EditRefusal::OtherName { name: old.name.clone() });
        }
        let is_kept = |key: &Key, slot: &StateSlot| {
            new.state.get(key).is_some_and(|other| other.reduce == slot.reduce)
        };
        if let Some((key, _)) = old.state.iter().find(|(key, slot)| !is_kept(key, slot)) {
            return Some(EditRefusal::State { key: key.clone() });
        }
        let node = self.stranded(run)?.clone();
        Some(EditRefusal::Stranded { node })
    }

    /// Replaces the graph by the requested one, if the paths have their places in it. The input
    /// stays, keys that the state lacks get their initial values, and events for which no node waits
    /// any more are dropped. Returns `false` if this
    /// signal requested no edit that is not in force.
    pub(crate) fn edit(&mut self, signal: Seq) -> bool {
        let Some(request) = self.requested.take_if(|request| request.seq == signal) else {
            return false;
        };
        let fits = self.end.is_none() && self.misfit(request.run()).is_none();
        self.decided_edit = Some((signal, fits));
        if !fits {
            return true;
        }
        let initial = request.run().definition.initial_state();
        complete(&mut self.state, &initial);
        for token in self.paths.values_mut() {
            if let TokenAt::Split(split) = &mut token.at {
                complete(&mut split.state, &initial);
            }
        }
        let definition = &request.run().definition;
        self.events.retain(|_, event| definition.awaits(&event.name));
        let input = self.run.input.clone();
        self.run = Arc::new(WorkflowRun { input, ..WorkflowRun::clone(request.run()) });
        self.revision = self.revision.saturating_add(1);
        self.newest_edit = Some(request);
        true
    }

    /// Returns the first node at which a path is and that has no such place in a new graph.
    fn stranded(&self, run: &WorkflowRun) -> Option<&NodeId> {
        let new = &run.definition;
        let (before, after) = (self.run.definition.regions(), new.regions());
        let fits = |node: &NodeId, has_begun: bool| {
            let (Some(old), Some(now)) = (self.node(node), new.nodes.get(node)) else {
                return false;
            };
            (!has_begun || goes_on((&self.run, &old.work), (run, &now.work)))
                && before.get(node) == after.get(node)
        };
        self.paths.iter().find_map(|(path, token)| {
            let (node, has_begun) = match &token.at {
                TokenAt::Before(node) => (node, false),
                TokenAt::Visit(visit) => (&visit.node, true),
                TokenAt::Split(split) => (&split.visit.node, true),
                // The item of a map may still contribute the result of the node that it left.
                TokenAt::End => (&token.last.as_ref()?.node, true),
            };
            (!fits(node, has_begun)).then_some(node).or_else(|| left_behind(path, node, &after))
        })
    }
}

/// Returns the node if its path is not of the region that the node is in.
fn left_behind<'n>(
    path: &Path,
    node: &'n NodeId,
    regions: &BTreeMap<&NodeId, Region>,
) -> Option<&'n NodeId> {
    let holder = match path {
        Path::Main => None,
        Path::Of { split, .. } => Some(&split.node),
    };
    (regions.get(node).and_then(Region::joins) != holder).then_some(node)
}

/// Returns `true` if work that was entered at a node can end at its new form.
fn goes_on((of_old, old): (&WorkflowRun, &Work), (of_new, new): (&WorkflowRun, &Work)) -> bool {
    match (old, new) {
        (Work::Event(old), Work::Event(new)) => old.event == new.event,
        (Work::Agent(Agent { does: old }), Work::Agent(Agent { does: new })) => {
            is_same_task((of_old, old), (of_new, new))
        }
        (Work::Parallel(old), Work::Parallel(new)) => {
            old.branches.iter().map(|one| &one.name).eq(new.branches.iter().map(|one| &one.name))
        }
        (old, new) => old.kind() == new.kind(),
    }
}

/// Returns `true` for the same agent, or the same workflow with the same definition. A child job that
/// has not begun gets the definition that its parent then holds.
fn is_same_task(
    (of_old, old): (&WorkflowRun, &AgentTask),
    (of_new, new): (&WorkflowRun, &AgentTask),
) -> bool {
    match (old, new) {
        (AgentTask::Here { .. }, AgentTask::Here { .. }) => true,
        (AgentTask::Named { agent: old, .. }, AgentTask::Named { agent: new, .. }) => old == new,
        (AgentTask::Workflow { workflow: old, .. }, AgentTask::Workflow { workflow: new, .. }) => {
            old == new && definitions(of_old, old) == definitions(of_new, new)
        }
        (
            AgentTask::Here { .. } | AgentTask::Named { .. } | AgentTask::Workflow { .. },
            AgentTask::Here { .. } | AgentTask::Named { .. } | AgentTask::Workflow { .. },
        ) => false,
    }
}

/// Returns the definition of a workflow, and of those that it runs.
fn definitions(run: &WorkflowRun, name: &WorkflowName) -> Option<BTreeMap<WorkflowName, Workflow>> {
    let below = run.below(name, Value::Null)?;
    let own = (name.clone(), below.definition);
    let others = below.workflows.into_iter().map(|(name, sub)| (name, sub.definition));
    Some(others.chain([own]).collect())
}

/// Adds the values of the keys that a state lacks.
fn complete(state: &mut Arc<State>, initial: &BTreeMap<Key, Value>) {
    for (key, value) in initial {
        if !state.contains_key(key) {
            Arc::make_mut(state).insert(key.clone(), value.clone());
        }
    }
}
