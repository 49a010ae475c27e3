//! The places at which a workflow goes on, in their order.

use proto::workflow::{NodeId, Path, Visit, Work};

use crate::{
    nodes::VisitEnd,
    state::{ActiveJob, Graph, Split, TokenAt},
};

/// A place at which the workflow can go on.
pub(super) enum Due {
    Enter(Path, NodeId),
    Left(Path, Visit, VisitEnd),
    Arrived(Path),
    Item(Visit, u32),
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

/// Returns the first place at which a path, or one inside of it, goes on without an end of work.
fn on_its_way(graph: &Graph, path: &Path) -> Option<Due> {
    match &graph.paths().get(path)?.at {
        TokenAt::Before(node) => Some(Due::Enter(path.clone(), node.clone())),
        TokenAt::End => Some(Due::Arrived(path.clone())),
        TokenAt::Visit(_) => None,
        TokenAt::Split(split) => {
            let inner = |slot| Path::Of { split: split.visit.clone(), slot };
            let inner = (0..split.begun).find_map(|slot| on_its_way(graph, &inner(slot)));
            inner.or_else(|| next_item(graph, split))
        }
    }
}

fn next_item(graph: &Graph, split: &Split) -> Option<Due> {
    let Work::Map(map) = &graph.node(&split.visit.node)?.work else { return None };
    let room = split.running() < usize::try_from(map.max_parallel).unwrap_or(usize::MAX);
    let is_due = room && split.begun < split.paths;
    is_due.then(|| Due::Item(split.visit.clone(), split.begun))
}
