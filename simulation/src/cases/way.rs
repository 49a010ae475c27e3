//! The way of a case through its workflow: the visits, the routes, and the state at the end, as the
//! job machine tells them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use proto::{
    job::Outcome,
    workflow::{Edge, EdgeKind, Workflow, WorkflowGraph, WorkflowName},
};
use serde::Serialize;
use serde_json::Value;

/// A workflow under test: its file, and the checked definition.
#[derive(Debug, Clone)]
pub struct TestedWorkflow {
    /// Text of the file, which cases submit.
    pub source: String,
    /// Definition that the text says.
    pub definition: Workflow,
    /// Texts of the files of the workflows that its nodes run, directly or through others, by name.
    pub workflows: BTreeMap<WorkflowName, String>,
}

/// The way of a run through its workflow.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Way {
    /// Visited nodes, in the order of their entries. A log has at most `limits.steps` of them.
    pub visits: Vec<String>,
    /// Routes that were taken.
    pub routes: BTreeSet<Route>,
    /// State at the end; a value over 8 KiB is replaced by its size.
    pub state: Value,
    /// Output; `null` if the workflow did not succeed.
    pub output: Value,
}

/// A way from a node to the next one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Route {
    /// Node that is left, or `join:` and the node whose paths have joined.
    pub from: String,
    /// Next node, `end`, or the join at which the path arrives.
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

impl Route {
    /// Returns the route of an edge; `None` for the beginning of a path inside of a node.
    fn of(edge: &Edge) -> Option<Self> {
        let by = match (edge.kind, &edge.when) {
            (EdgeKind::Next, Some(when)) => By::When(when.as_str().to_owned()),
            (EdgeKind::Next, None) => By::Otherwise,
            (EdgeKind::Error, _) => By::OnError,
            (EdgeKind::Timeout, _) => By::Timeout,
            (EdgeKind::Branch | EdgeKind::Item, _) => return None,
        };
        Some(Self { from: edge.from.to_string(), to: edge.to.to_string(), by })
    }
}

/// Returns every route of a workflow, in the order of its edges.
#[must_use]
pub fn routes(workflow: &Workflow) -> Vec<Route> {
    workflow.edges().iter().filter_map(Route::of).collect()
}

/// Returns the routes of a workflow that no run took.
pub fn never_taken<'a>(workflow: &Workflow, ways: impl Iterator<Item = &'a Way>) -> Vec<Route> {
    let taken: BTreeSet<&Route> = ways.flat_map(|way| &way.routes).collect();
    routes(workflow).into_iter().filter(|route| !taken.contains(route)).collect()
}

/// Returns the way of a job through its graph.
pub(super) fn of(graph: WorkflowGraph, outcome: Option<&Outcome>) -> Way {
    let taken = graph.edges.iter().filter(|edge| edge.taken > 0);
    let output = match outcome {
        Some(Outcome::Completed { value, .. }) => value.clone(),
        Some(Outcome::Failed { .. } | Outcome::Canceled { .. }) | None => Value::Null,
    };
    Way {
        visits: graph.visits.iter().map(|visit| visit.visit.node.to_string()).collect(),
        routes: taken.filter_map(|edge| Route::of(&edge.edge)).collect(),
        state: graph.state,
        output,
    }
}
