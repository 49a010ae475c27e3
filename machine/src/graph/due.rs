//! The places at which a workflow goes on, in their order.

use proto::workflow::{NodeId, Path, Paths, Visit, Work};

use crate::{
    nodes::VisitEnd,
    state::{ActiveJob, Graph, Split, TokenAt},
    step::StepRun,
};

/// A place at which the workflow can go on without a decision about an event.
pub(super) enum Due {
    Enter(Path, NodeId),
    Left(Path, Visit, VisitEnd),
    Arrived(Path),
    Item(Visit, u32),
    /// A split whose join has what it waits for, or can no longer have it. An edit can do that.
    Joined(Visit),
}

/// A visit that waits for an event.
pub(super) struct Awaiting {
    pub(super) path: Path,
    pub(super) visit: Visit,
    /// Numbers of the events of its name that no node has received, in order.
    pub(super) events: Vec<u32>,
    /// `true` once its time was up.
    pub(super) is_late: bool,
}

/// The end of a wait for an event.
pub(super) enum Heard {
    /// The visit receives the event of this number.
    Event(Awaiting, u32),
    /// The condition on the event of this number has an error.
    Unmatched(Awaiting, u32, String),
    /// The time is up.
    Nothing(Awaiting),
}

/// Returns `true` if the workflow can go on, or if a condition of an event decides whether it can.
pub(super) fn may_be_due(open: &ActiveJob, graph: &Graph) -> bool {
    let decides = |it: Awaiting| it.is_late || !it.events.is_empty();
    let has_events = || graph.run().definition.events().next().is_some();
    due(open, graph).is_some() || (has_events() && awaiting(open, graph).any(decides))
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

/// Returns the visits that wait for events, in the order of their paths.
pub(super) fn awaiting(open: &ActiveJob, graph: &Graph) -> impl Iterator<Item = Awaiting> {
    graph.paths().iter().filter_map(|(path, token)| {
        let TokenAt::Visit(visit) = &token.at else { return None };
        let sleep = open.step_of(visit).and_then(StepRun::sleep)?;
        let name = sleep.event.as_ref()?;
        let events = graph.events().iter().filter(|(_, event)| event.name == *name);
        let events = events.map(|(number, _)| *number).collect();
        let (path, visit) = (path.clone(), visit.clone());
        Some(Awaiting { path, visit, events, is_late: sleep.is_late })
    })
}

/// Returns the first place at which a path, or one inside of it, goes on without an end of work.
fn on_its_way(graph: &Graph, path: &Path) -> Option<Due> {
    match &graph.paths().get(path)?.at {
        TokenAt::Before(node) => Some(Due::Enter(path.clone(), node.clone())),
        TokenAt::End => Some(Due::Arrived(path.clone())),
        TokenAt::Visit(_) => None,
        TokenAt::Split(split) => {
            // Paths that have ended are gone: a map may have begun hundreds of them.
            let of = |slot| Path::Of { split: split.visit.clone(), slot };
            let mut open = graph.paths().range(of(0)..=of(u32::MAX));
            let inner = open.find_map(|(path, _)| on_its_way(graph, path));
            inner.or_else(|| joined(graph, split)).or_else(|| next_item(graph, split))
        }
    }
}

fn joined(graph: &Graph, split: &Split) -> Option<Due> {
    let join = graph.node(&split.visit.node)?.work.paths().map(Paths::join)?;
    split.is_settled(join).then(|| Due::Joined(split.visit.clone()))
}

fn next_item(graph: &Graph, split: &Split) -> Option<Due> {
    let Work::Map(map) = &graph.node(&split.visit.node)?.work else { return None };
    let room = split.running() < usize::try_from(map.max_parallel).unwrap_or(usize::MAX);
    let is_due = room && split.begun < split.paths;
    is_due.then(|| Due::Item(split.visit.clone(), split.begun))
}
