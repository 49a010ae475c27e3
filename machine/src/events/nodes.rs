//! The events of a workflow's nodes: the beginnings and ends of visits in one advance.

use proto::{
    decision::{Decision, Note},
    event::{Happened, NodeEvent, NodePhase},
    record::Known,
};

use super::look::Look;

/// Adds the entries, ends and ways of an advance, in their order. The other events of the record
/// precede them, so their ids are those of releases without events of nodes.
pub(super) fn moved(known: &Known, after: &Look<'_>, events: &mut Vec<Happened>) {
    let Known::Decision(decision) = known else { return };
    let Decision::Note(Note::Advanced(_)) = &**decision else { return };
    for seen in after.trail() {
        let mut add = |phase| {
            events.push(Happened::Node(NodeEvent {
                node: seen.visit.node.clone(),
                visit: seen.visit.clone(),
                label: seen.label.to_owned(),
                phase,
            }));
        };
        if !seen.has_ended {
            add(NodePhase::Entered { kind: seen.kind });
            continue;
        }
        add(NodePhase::Ended { state: seen.state, error: seen.error.map(str::to_owned) });
        if let Some((to, way, when)) = seen.way {
            add(NodePhase::Routed { to, way, when });
        }
    }
}
