//! The graph of a plan: its steps, their dependencies, and layers in which to draw them. A pure
//! function of a view.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    diff,
    id::{StepId, ToolName},
    revision::Line,
    step::StepState,
    view::{JobView, StepView},
};

/// A plan as a directed graph without cycles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlanGraph {
    /// Number of plans before this one.
    pub revision: u32,
    /// Steps, in plan order.
    pub nodes: Vec<Node>,
    /// Dependencies among these steps.
    pub edges: Vec<Edge>,
    /// Steps by layer. A step is one layer below the lowest step that it depends on.
    pub layers: Vec<Vec<StepId>>,
}

/// A step of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Node {
    /// Id of the step.
    pub id: StepId,
    /// Text for screens: the step's title or description.
    pub label: String,
    /// Tool of a step that is a single tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// State of the step. A step of an earlier plan has its present state, or the one in which it
    /// was dropped.
    pub state: StepState,
    /// Number of the step's layer, from 0.
    pub layer: usize,
}

/// A dependency between two steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Edge {
    /// Step that completes first.
    pub from: StepId,
    /// Step that depends on it.
    pub to: StepId,
    /// `true` if other edges imply this one, so that a drawing can leave it out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub implied: bool,
}

/// A step before it has a layer.
struct Step {
    id: StepId,
    label: String,
    tool: Option<ToolName>,
    state: StepState,
    depends_on: Vec<StepId>,
}

impl From<&StepView> for Step {
    fn from(step: &StepView) -> Self {
        let label = if step.title.is_empty() { &step.description } else { &step.title };
        Self {
            id: step.id.clone(),
            label: label.clone(),
            tool: step.tool.clone(),
            state: step.state,
            depends_on: step.depends_on.clone(),
        }
    }
}

impl From<Line> for Step {
    fn from(line: Line) -> Self {
        let Line { change: _, id, label, depends_on, state } = line;
        Self { id, label, tool: None, state, depends_on }
    }
}

impl PlanGraph {
    /// Returns the graph of a job's plan, in force or proposed; `None` without a plan.
    #[must_use]
    pub fn of(view: &JobView) -> Option<Self> {
        let plan = view.plan.as_ref()?;
        let steps: Vec<Step> = plan.steps.iter().map(Step::from).collect();
        Some(Self::new(plan.revision, &steps))
    }

    /// Returns the graph of a plan by its number; `None` if the job has had no such plan.
    #[must_use]
    pub fn of_revision(view: &JobView, number: u32) -> Option<Self> {
        let lines = diff::lines_of(view, number)?;
        let steps: Vec<Step> = lines.into_iter().map(Step::from).collect();
        Some(Self::new(number, &steps))
    }

    fn new(revision: u32, steps: &[Step]) -> Self {
        let places: BTreeMap<&StepId, usize> = (0..).zip(steps).map(|(n, s)| (&s.id, n)).collect();
        let above = |step: &Step| {
            let mut above: Vec<usize> =
                step.depends_on.iter().filter_map(|id| places.get(id).copied()).collect();
            above.sort_unstable();
            above.dedup();
            above
        };
        let above: Vec<Vec<usize>> = steps.iter().map(above).collect();
        let layers = layers(&above);
        let implied = implied(&above, &layers);
        let id = |place: usize| steps.get(place).map(|step| step.id.clone());
        let mut edges = Vec::new();
        let mut by_layer = vec![Vec::new(); layers.iter().max().map_or(0, |last| last + 1)];
        for (place, step) in steps.iter().enumerate() {
            for from in above.get(place).into_iter().flatten().copied() {
                let implied = implied.contains(&(from, place));
                edges.extend(id(from).map(|from| Edge { from, to: step.id.clone(), implied }));
            }
            if let Some(layer) = layers.get(place).and_then(|layer| by_layer.get_mut(*layer)) {
                layer.push(step.id.clone());
            }
        }
        let nodes = steps.iter().zip(&layers).map(|(step, layer)| Node {
            id: step.id.clone(),
            label: step.label.clone(),
            tool: step.tool.clone(),
            state: step.state,
            layer: *layer,
        });
        Self { revision, nodes: nodes.collect(), edges, layers: by_layer }
    }
}

/// Returns the length of the longest path to each step. A cycle, which no checked plan has, ends
/// after as many rounds as there are steps.
fn layers(above: &[Vec<usize>]) -> Vec<usize> {
    let mut layers = vec![0; above.len()];
    for _ in 0..above.len() {
        let next = |above: &Vec<usize>| {
            let above = above.iter().filter_map(|from| layers.get(*from));
            above.max().map_or(0, |layer| (layer + 1).min(layers.len()))
        };
        let next: Vec<usize> = above.iter().map(next).collect();
        if next == layers {
            break;
        }
        layers = next;
    }
    layers
}

/// Returns the edges that longer paths imply.
fn implied(above: &[Vec<usize>], layers: &[usize]) -> std::collections::BTreeSet<(usize, usize)> {
    let layer = |place: usize| layers.get(place).copied().unwrap_or_default();
    let mut order: Vec<usize> = (0..above.len()).collect();
    order.sort_by_key(|place| layer(*place));
    let mut ancestors = vec![vec![false; above.len()]; above.len()];
    let mut implied = std::collections::BTreeSet::new();
    for place in order {
        // The lowest first: what they depend on is reached through them.
        let mut direct = above.get(place).cloned().unwrap_or_default();
        direct.sort_by_key(|from| std::cmp::Reverse(layer(*from)));
        let mut reached = vec![false; above.len()];
        for from in direct {
            match reached.get_mut(from) {
                Some(true) => {
                    implied.insert((from, place));
                }
                Some(here) => {
                    *here = true;
                    let further = ancestors.get(from).into_iter().flatten();
                    reached.iter_mut().zip(further).for_each(|(here, there)| *here |= there);
                }
                None => {}
            }
        }
        if let Some(own) = ancestors.get_mut(place) {
            *own = reached;
        }
    }
    implied
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A graph from lines such as `c<a,b`.
    fn graph(plan: &str) -> PlanGraph {
        let step = |line: &str| {
            let (name, above) = line.split_once('<').unwrap_or((line, ""));
            let id = |id: &str| StepId::new(id).unwrap();
            let depends_on = above.split(',').filter(|above| !above.is_empty()).map(id).collect();
            let (label, state) = (line.to_owned(), StepState::Pending);
            Step { id: id(name), label, tool: None, state, depends_on }
        };
        PlanGraph::new(0, &plan.split_whitespace().map(step).collect::<Vec<_>>())
    }

    fn layers_of(plan: &str) -> Vec<String> {
        let join = |ids: &Vec<StepId>| ids.iter().map(StepId::as_str).collect::<String>();
        graph(plan).layers.iter().map(join).collect()
    }

    fn edges_of(plan: &str) -> String {
        let edge = |edge: &Edge| {
            let mark = if edge.implied { "?" } else { "" };
            format!("{}{}{mark}", edge.from, edge.to)
        };
        graph(plan).edges.iter().map(edge).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_step_is_below_everything_that_it_depends_on() {
        assert_eq!(layers_of("a b<a c<a d<b,c e"), ["ae", "bc", "d"]);
        assert_eq!(layers_of("c<b b<a a"), ["a", "b", "c"]);
        assert_eq!(layers_of("a<gone b<a,gone"), ["a", "b"], "a step that is not shown");
        assert!(layers_of("").is_empty());
    }

    #[test]
    fn an_edge_beside_a_longer_path_is_implied() {
        assert_eq!(edges_of("a b<a c<a,b d<a,c"), "ab ac? bc ad? cd");
        assert_eq!(edges_of("a b c<a,b"), "ac bc");
        assert_eq!(edges_of("a b<a,a"), "ab");
    }

    #[test]
    fn a_cycle_has_an_end() {
        let graph = graph("a<b b<a c");
        assert_eq!((graph.nodes.len(), graph.edges.len()), (3, 2));
    }
}
