//! The marks of a drawing: the states, visits and costs of a job's nodes, and the edges that its
//! paths took.

use std::collections::BTreeMap;

use proto::{
    spent::Spent,
    step::StepState,
    workflow::{NodeId, WorkflowGraph},
};

/// The state of a node in a job, as a drawing shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mark {
    /// State of the newest visit.
    pub state: StepState,
    /// Number of visits.
    pub visits: u32,
    /// Number of visits that failed.
    pub failed: u32,
    /// Cost with its unit; empty when nothing was spent.
    pub cost: String,
}

/// The marks of a drawing. Without a job, a drawing has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// Marks of nodes, by id.
    pub nodes: BTreeMap<NodeId, Mark>,
    /// Number of times that each edge was taken, in the order of the workflow's edges; absent
    /// without a job.
    pub taken: Option<Vec<u32>>,
}

impl Marks {
    /// Returns the marks of a job's graph.
    #[must_use]
    pub fn of(graph: &WorkflowGraph) -> Self {
        let mark = |node: &proto::workflow::GraphNode| Mark {
            state: node.state,
            visits: node.visits,
            failed: node.failed,
            cost: cost(&node.spent),
        };
        Self {
            nodes: graph.nodes.iter().map(|node| (node.shape.id.clone(), mark(node))).collect(),
            taken: Some(graph.edges.iter().map(|edge| edge.taken).collect()),
        }
    }
}

impl Mark {
    /// Returns the mark in one line: a sign with the word of the state, visits and cost.
    pub(super) fn line(&self) -> String {
        let mut parts = vec![format!("{} {}", sign(self.state), self.state)];
        if self.visits > 1 {
            parts.push(format!("×{}", self.visits));
        }
        if self.failed > 0 && self.visits > 1 {
            parts.push(format!("✗{}", self.failed));
        }
        if !self.cost.is_empty() {
            parts.push(self.cost.clone());
        }
        parts.join(" · ")
    }
}

/// Returns the sign of a state, so that no state is told by its colour alone.
fn sign(state: StepState) -> &'static str {
    match state {
        StepState::Pending | StepState::Ready => "○",
        StepState::Running => "▸",
        StepState::Waiting => "⏸",
        StepState::Completed => "✓",
        StepState::Failed => "✗",
        StepState::Blocked | StepState::Canceled => "⊘",
        StepState::Skipped => "–",
    }
}

/// The colours of a state: fill, line and text have a contrast of 4.5 and more.
pub(super) struct Colours {
    pub(super) fill: &'static str,
    pub(super) line: &'static str,
}

/// Returns the colours of a state.
pub(super) fn colours(state: StepState) -> Colours {
    let (fill, line) = match state {
        StepState::Pending => ("#ffffff", "#9aa0ab"),
        StepState::Ready => ("#ffffff", "#3f6fc4"),
        StepState::Running => ("#e3edfd", "#3f6fc4"),
        StepState::Waiting => ("#fdf1d3", "#b8860b"),
        StepState::Completed => ("#e1f4e7", "#2f8f57"),
        StepState::Failed => ("#fde4e1", "#c8372d"),
        StepState::Blocked | StepState::Skipped | StepState::Canceled => ("#eef0f3", "#7a808b"),
    };
    Colours { fill, line }
}

/// Returns the cost of a node: money where prices are known, and tokens otherwise.
fn cost(spent: &Spent) -> String {
    match (spent.money, spent.tokens()) {
        (Some(money), _) if money >= 0.01 => format!("${money:.2}"),
        (Some(money), _) if money > 0.0 => format!("${money:.4}"),
        (_, 0) => String::new(),
        (_, tokens) => format!("{tokens} tokens"),
    }
}
