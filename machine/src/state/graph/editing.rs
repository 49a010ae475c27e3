//! The replacement of a graph while paths are on their way through it.
//!
//! Work that has begun goes on as it was entered. Its writes and its way on, and all that begins
//! later, follow the new graph.

use std::{collections::BTreeMap, sync::Arc};

use proto::workflow::{
    Agent, AgentTask, Key, NodeId, Path, Region, StateSlot, Work, Workflow, WorkflowName,
    WorkflowRun,
};
use serde_json::Value;

use super::{Graph, State, TokenAt};

/// The reason why a graph cannot be replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditRefusal {
    /// The job runs no workflow.
    NoWorkflow,
    /// The workflow has ended.
    Ended,
    /// Another number of edits counts.
    Stale {
        /// Number of the edits that count.
        revision: u32,
    },
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
    /// Returns the number of the edits that count.
    pub(crate) fn revision(&self) -> u32 {
        self.revision
    }

    /// Returns the reason why the graph cannot be replaced by that of `run`, or `None`.
    pub(crate) fn refuses_edit(&self, base: u32, run: &WorkflowRun) -> Option<EditRefusal> {
        let (old, new) = (&self.run.definition, &run.definition);
        if self.end.is_some() {
            return Some(EditRefusal::Ended);
        }
        if base != self.revision {
            return Some(EditRefusal::Stale { revision: self.revision });
        }
        if old.name != new.name {
            return Some(EditRefusal::OtherName { name: old.name.clone() });
        }
        let is_kept = |key: &Key, slot: &StateSlot| {
            new.state.get(key).is_some_and(|other| other.reduce == slot.reduce)
        };
        if let Some((key, _)) = old.state.iter().find(|(key, slot)| !is_kept(key, slot)) {
            return Some(EditRefusal::State { key: key.clone() });
        }
        let node = self.stranded(new)?.clone();
        Some(EditRefusal::Stranded { node })
    }

    /// Replaces the graph. The input stays, and keys that the state lacks get their initial values.
    ///
    /// # Errors
    /// Returns the reason why the graph cannot be replaced.
    pub(crate) fn edit(&mut self, base: u32, run: &WorkflowRun) -> Result<(), EditRefusal> {
        if let Some(refusal) = self.refuses_edit(base, run) {
            return Err(refusal);
        }
        let initial = run.definition.initial_state();
        complete(&mut self.state, &initial);
        for token in self.paths.values_mut() {
            if let TokenAt::Split(split) = &mut token.at {
                complete(&mut split.state, &initial);
            }
        }
        let input = self.run.input.clone();
        self.run = Arc::new(WorkflowRun { input, ..run.clone() });
        self.revision = self.revision.saturating_add(1);
        Ok(())
    }

    /// Returns the first node at which a path is and that has no such place in a new graph.
    fn stranded(&self, new: &Workflow) -> Option<&NodeId> {
        let (before, after) = (self.run.definition.regions(), new.regions());
        let fits = |node: &NodeId, has_begun: bool| {
            let (Some(old), Some(now)) = (self.node(node), new.nodes.get(node)) else {
                return false;
            };
            (!has_begun || goes_on(&old.work, &now.work)) && before.get(node) == after.get(node)
        };
        self.paths.iter().find_map(|(path, token)| {
            let (node, has_begun) = match &token.at {
                TokenAt::Before(node) => (node, false),
                TokenAt::Visit(visit) => (&visit.node, true),
                TokenAt::Split(split) => (&split.visit.node, true),
                TokenAt::End => return None,
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
fn goes_on(old: &Work, new: &Work) -> bool {
    match (old, new) {
        (Work::Event(old), Work::Event(new)) => old.event == new.event,
        (Work::Agent(old), Work::Agent(new)) => is_same_task(old, new),
        (Work::Parallel(old), Work::Parallel(new)) => {
            old.branches.iter().map(|one| &one.name).eq(new.branches.iter().map(|one| &one.name))
        }
        (old, new) => old.kind() == new.kind(),
    }
}

fn is_same_task(Agent { does: old }: &Agent, Agent { does: new }: &Agent) -> bool {
    match (old, new) {
        (AgentTask::Here { .. }, AgentTask::Here { .. }) => true,
        (AgentTask::Named { agent: old, .. }, AgentTask::Named { agent: new, .. }) => old == new,
        (AgentTask::Workflow { workflow: old, .. }, AgentTask::Workflow { workflow: new, .. }) => {
            old == new
        }
        (
            AgentTask::Here { .. } | AgentTask::Named { .. } | AgentTask::Workflow { .. },
            AgentTask::Here { .. } | AgentTask::Named { .. } | AgentTask::Workflow { .. },
        ) => false,
    }
}

/// Adds the values of the keys that a state lacks.
fn complete(state: &mut Arc<State>, initial: &BTreeMap<Key, Value>) {
    for (key, value) in initial {
        if !state.contains_key(key) {
            Arc::make_mut(state).insert(key.clone(), value.clone());
        }
    }
}
