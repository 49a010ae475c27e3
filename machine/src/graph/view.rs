//! The views of a workflow: the progress that every view of the job has, and the whole graph.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use proto::{
    id::{JobId, Seq, StepId},
    plan::Action,
    spent::Spent,
    step::StepState,
    workflow::{
        EdgeKind, Expression, GraphEdge, GraphNode, NodeId, NodeView, Path, Paths, Place, Region,
        SHOWN_BYTES_MAX, Visit, VisitView, WorkKind, Workflow, WorkflowGraph, WorkflowName,
        WorkflowView, shown,
    },
};
use serde_json::{Map, Value};

use crate::{
    nodes::VisitEnd,
    state::{ActiveJob, Graph, Job, Over, Trail, Visited},
    step::StepRun,
};

/// The visits of a job with their steps.
struct Told<'a> {
    open: &'a ActiveJob,
    definition: &'a Workflow,
    steps: BTreeMap<&'a StepId, &'a StepRun>,
    regions: BTreeMap<&'a NodeId, Region>,
}

/// The sums over the visits of a node.
#[derive(Default, Clone, Copy)]
struct Sum {
    state: StepState,
    visits: u32,
    failed: u32,
    spent: Spent,
}

/// The end of one visit of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedVisit<'a> {
    /// Workflow of the job.
    pub workflow: &'a WorkflowName,
    /// Node that was visited.
    pub node: &'a NodeId,
    /// State in which the visit ended.
    pub state: StepState,
    /// Time from the entry to the end, by the server's clock.
    pub took: SignedDuration,
}

impl Job {
    /// Returns the graph of the job's workflow, or `None` for a job without one.
    #[must_use]
    pub fn graph(&self) -> Option<WorkflowGraph> {
        self.open.as_ref()?.workflow_graph(&self.id, self.seq)
    }

    /// Returns the visits that ended with the last advance of the job's workflow: the node, the state
    /// in which its visit ended, and the time from the entry to the end.
    pub fn ended_visits(&self) -> impl Iterator<Item = EndedVisit<'_>> {
        let open = self.open.iter();
        let visits = open.flat_map(|open| open.visits.trail().map(move |one| (open, one)));
        let ended = visits.filter(|(_, (trail, _))| matches!(trail, Trail::Ended(_)));
        ended.filter_map(|(open, (_, one))| {
            Some(EndedVisit {
                workflow: open.workflow_name()?,
                node: &one.visit.node,
                state: open.state_of_visit(one),
                took: one.end.as_ref()?.at.duration_since(one.entered),
            })
        })
    }
}

impl ActiveJob {
    /// Returns the progress through the workflow, or `None` for a job without one.
    pub(crate) fn workflow_view(&self) -> Option<WorkflowView> {
        let told = Told::of(self)?;
        let mut order: Vec<&NodeId> = Vec::new();
        let sums = told.sums(|node| order.push(node));
        let nodes = order.into_iter().filter_map(|id| {
            let Sum { state, visits, failed, spent: _ } = sums.get(id)?;
            let kind = told.definition.nodes.get(id)?.work.kind();
            Some(NodeView { id: id.clone(), kind, state: *state, visits: *visits, failed: *failed })
        });
        Some(WorkflowView {
            name: told.definition.name.clone(),
            version: told.definition.version,
            digest: self.visits.digest(told.definition).to_owned(),
            revision: self.graph.as_deref().map_or(0, Graph::revision),
            limits: told.definition.limits.clone(),
            visits: u32::try_from(self.visits.all().len()).unwrap_or(u32::MAX),
            current: told.current(),
            nodes: nodes.collect(),
        })
    }

    fn workflow_graph(&self, job: &JobId, seq: Seq) -> Option<WorkflowGraph> {
        let told = Told::of(self)?;
        let graph = self.graph.as_deref()?;
        let sums = told.sums(|_| {});
        let nodes = told.definition.shape().nodes.into_iter().map(|shape| {
            let none = Sum::default();
            let Sum { state, visits, failed, spent } = *sums.get(&shape.id).unwrap_or(&none);
            GraphNode { shape, state, visits, failed, spent }
        });
        Some(WorkflowGraph {
            job: job.clone(),
            seq,
            digest: self.visits.digest(told.definition).to_owned(),
            revision: graph.revision(),
            definition: told.definition.clone(),
            input: fields(graph.run().input.as_object().into_iter().flatten()),
            state: fields(graph.state().iter()),
            nodes: nodes.collect(),
            edges: told.edges(),
            current: told.current(),
            visits: self.visits.all().iter().map(|one| told.visit(one)).collect(),
            visits_left_out: 0,
            files: None,
        })
    }

    /// Returns the state of a visit: that of its step, or of its path.
    pub(crate) fn state_of_visit(&self, one: &Visited) -> StepState {
        self.state_with(one, self.execution.of_visit(&one.visit))
    }

    fn state_with(&self, one: &Visited, step: Option<&StepRun>) -> StepState {
        match one.over() {
            Some(Over::Failed(_) | Over::Left { error: Some(_), .. }) => StepState::Failed,
            Some(Over::Stopped(state)) => *state,
            Some(Over::Left { error: None, .. }) => {
                step.map_or(StepState::Completed, |step| step.state)
            }
            None => match step {
                Some(step) => step.state,
                None if self.outcome().is_some() => StepState::Canceled,
                None => StepState::Running,
            },
        }
    }
}

impl<'a> Told<'a> {
    fn of(open: &'a ActiveJob) -> Option<Self> {
        let definition = &open.graph.as_deref()?.run().definition;
        let steps = open.execution.steps().iter().map(|step| (step.id(), step)).collect();
        Some(Self { open, definition, steps, regions: definition.regions() })
    }

    fn step(&self, one: &Visited) -> Option<&'a StepRun> {
        self.steps.get(&one.visit.step()).copied()
    }

    fn state(&self, one: &Visited) -> StepState {
        self.open.state_with(one, self.step(one))
    }

    fn current(&self) -> Vec<Visit> {
        let open = |one: &&Visited| one.end.is_none() && !self.state(one).is_terminal();
        self.open.visits.all().iter().filter(open).map(|one| one.visit.clone()).collect()
    }

    /// Sums up the visits by node. `first` hears of each node at its first visit.
    fn sums(&self, mut first: impl FnMut(&'a NodeId)) -> BTreeMap<&'a NodeId, Sum> {
        let mut sums: BTreeMap<&NodeId, Sum> = BTreeMap::new();
        for one in self.open.visits.all() {
            let sum = sums.entry(&one.visit.node).or_insert_with(|| {
                first(&one.visit.node);
                Sum::default()
            });
            let state = self.state(one);
            // An open visit stays in sight while those after it end.
            if sum.state.is_terminal() || sum.visits == 0 || state == StepState::Running {
                sum.state = state;
            }
            sum.visits = sum.visits.saturating_add(1);
            sum.failed = sum.failed.saturating_add(u32::from(state == StepState::Failed));
            sum.spent += self.step(one).map(|step| step.spent).unwrap_or_default();
        }
        sums
    }

    fn visit(&self, one: &Visited) -> VisitView {
        let step = self.step(one);
        let (to, when) = self.way(one).map_or((None, None), |(to, _, when)| (Some(to), when));
        let failed = step.filter(|step| step.state == StepState::Failed);
        let error = one.error().or_else(|| failed.and_then(|step| step.response.as_deref()));
        let output = match step.and_then(StepRun::visit_end) {
            Some(VisitEnd::Done(value)) => value,
            Some(VisitEnd::Failed(_) | VisitEnd::TimedOut) | None => Value::Null,
        };
        VisitView {
            visit: one.visit.clone(),
            path: one.path.clone(),
            state: self.state(one),
            input: step.map(input).unwrap_or_default(),
            output: shown(&output, SHOWN_BYTES_MAX),
            error: error.map(str::to_owned),
            writes: one.writes.clone(),
            to,
            when,
            attempts: step.map_or(0, |step| step.attempted),
            turns: step.map_or(0, |step| step.turns),
            spent: step.map(|step| step.spent).unwrap_or_default(),
            entered: one.entered,
            ended: one.end.as_ref().map(|end| end.at).or_else(|| step.and_then(|step| step.ended)),
        }
    }

    /// Returns the way that a visit's path took: its end, kind and condition.
    fn way(&self, one: &Visited) -> Option<Way> {
        let timed_out = self.step(one).is_some_and(StepRun::is_timed_out);
        way(one, timed_out, self.regions.get(&one.visit.node)?)
    }

    /// Returns every edge with the number of times that paths took it.
    fn edges(&self) -> Vec<GraphEdge> {
        let edges = self.definition.edges().into_iter();
        let mut edges: Vec<_> = edges.map(|edge| GraphEdge { edge, taken: 0 }).collect();
        let mut take = |is: &dyn Fn(&GraphEdge) -> bool| {
            if let Some(edge) = edges.iter_mut().find(|edge| is(edge)) {
                edge.taken = edge.taken.saturating_add(1);
            }
        };
        let mut begun: Vec<&Path> = Vec::new();
        for one in self.open.visits.all() {
            if let Path::Of { split, slot: _ } = &one.path
                && !begun.contains(&&one.path)
            {
                begun.push(&one.path);
                let (from, to) =
                    (Place::Node(split.node.clone()), Place::Node(one.visit.node.clone()));
                take(&|GraphEdge { edge, .. }| {
                    let starts = matches!(edge.kind, EdgeKind::Branch | EdgeKind::Item);
                    starts && edge.from == from && edge.to == to
                });
            }
            let Some((to, kind, when)) = self.way(one) else { continue };
            let from = self.leaves(&one.visit.node);
            take(&|GraphEdge { edge, .. }| {
                edge.from == from && edge.to == to && edge.kind == kind && edge.when == when
            });
        }
        edges
    }

    /// Returns the place that the routes of a node leave.
    fn leaves(&self, id: &NodeId) -> Place {
        let paths: Option<Paths<'_>> =
            self.definition.nodes.get(id).and_then(|node| node.work.paths());
        match paths {
            Some(_) => Place::Join(id.clone()),
            None => Place::Node(id.clone()),
        }
    }
}

/// A way: its end, its kind, and the condition that was true.
pub(crate) type Way = (Place, EdgeKind, Option<Expression>);

/// Returns the way that the path of a visit took, or `None` if it did not go on.
pub(crate) fn way(one: &Visited, timed_out: bool, region: &Region) -> Option<Way> {
    let Over::Left { to, when, error } = one.over()? else { return None };
    let kind = match (error, timed_out) {
        (Some(_), _) => EdgeKind::Error,
        (None, true) => EdgeKind::Timeout,
        (None, false) => EdgeKind::Next,
    };
    Some((Place::of(to, region), kind, when.clone()))
}

/// Returns an object of values for screens.
fn fields<'v, K: ToString>(values: impl Iterator<Item = (K, &'v Value)>) -> Value {
    let shown = values.map(|(key, value)| (key.to_string(), shown(value, SHOWN_BYTES_MAX)));
    Value::Object(shown.collect::<Map<_, _>>())
}

/// Returns the values that a visit was entered with, as its step has them. Its node may have another
/// type by now.
fn input(step: &StepRun) -> Value {
    let text = || Value::from(step.step.description.as_str());
    let one = |key: &str| vec![(key.to_owned(), text())];
    let Some(kind) = step.rules.as_deref().and_then(|rules| rules.kind) else { return Value::Null };
    let values = match kind {
        WorkKind::Model => {
            let system = step.rules.as_deref().and_then(|rules| rules.system.clone());
            let system = system.map(|system| ("system".to_owned(), system.into()));
            one("prompt").into_iter().chain(system).collect()
        }
        WorkKind::Tool => match &step.step.action {
            Action::Tool { args, .. } => vec![("args".to_owned(), args.clone())],
            Action::Agent => Vec::new(),
        },
        WorkKind::Agent => match &step.step.action {
            Action::Tool { args, .. } => vec![("task".to_owned(), args["goal"].clone())],
            Action::Agent => one("task"),
        },
        WorkKind::Human => one("ask"),
        WorkKind::Wait => one("until"),
        WorkKind::Event => one("event"),
        WorkKind::Branch | WorkKind::Parallel | WorkKind::Map | WorkKind::Set | WorkKind::End => {
            return Value::Null;
        }
    };
    fields(values.iter().map(|(key, value)| (key, value)))
}
