//! The checks of the graph: regions, reachability, ends, circles, write conflicts and warnings.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use petgraph::{algo::tarjan_scc, graphmap::DiGraphMap};
use proto::workflow::{
    Key, Node, NodeId, Paths, Reducer, Region, Target, Work, WorkKind, Workflow,
};

use super::{
    fields::{Places, Reading},
    known::Known,
    words::Text,
};

/// Checks the graph, and completes the nodes of branches and bodies. All targets exist.
pub(super) fn check(
    workflow: &mut Workflow,
    places: &Places<'_>,
    known: &Known,
    reading: &mut Reading,
) {
    let is_sound = regions(workflow, places, reading);
    if !is_sound {
        return;
    }
    let regions: BTreeMap<NodeId, Region> =
        workflow.regions().into_iter().map(|(id, region)| (id.clone(), region)).collect();
    let report = |id: &NodeId, why: Text<'_>, reading: &mut Reading| {
        let at = places.get(id).map_or(crate::source::tree::Place::START, |place| place.at);
        reading.mistake(at, &format!("nodes.{id}"), why);
    };
    for (id, node) in &workflow.nodes {
        if node.work.kind() == WorkKind::End && regions.get(id) != Some(&Region::Main) {
            report(id, Text::EndInside, reading);
        }
        if matches!(node.work, Work::Map(_)) && inside_map(&regions, workflow, id) {
            report(id, Text::MapInMap, reading);
        }
    }
    for id in endless(workflow) {
        report(&id, Text::NoEnd, reading);
    }
    for id in idle_circles(workflow) {
        report(&id, Text::Circle { node: &id }, reading);
    }
    for (one, other, key) in conflicts(workflow, &regions) {
        if one == other {
            report(&one, Text::ConflictItems { key: &key }, reading);
        } else {
            report(&other, Text::Conflict { key: &key, other: &one }, reading);
        }
    }
    warn_once(workflow, places, known, &regions, reading);
}

/// Assigns every node to its region. Returns whether the regions are sound.
fn regions(workflow: &mut Workflow, places: &Places<'_>, reading: &mut Reading) -> bool {
    let before = reading.wrong.len();
    let mut owner: BTreeMap<NodeId, Region> = BTreeMap::new();
    let mut queue = VecDeque::from([(workflow.start.clone(), Region::Main)]);
    while let Some((id, region)) = queue.pop_front() {
        if let Some(found) = owner.get(&id) {
            if *found != region {
                let at = places.get(&id).map_or(crate::source::tree::Place::START, |p| p.at);
                let (one, other) = (shown(workflow, found), shown(workflow, &region));
                let why = proto::lang::Words::new(|language| {
                    let (one, other) = (one.text(language), other.text(language));
                    Text::TwoRegions { one: &one, other: &other }.text(language)
                });
                reading.mistake(at, &format!("nodes.{id}"), why);
            }
            continue;
        }
        owner.insert(id.clone(), region.clone());
        let Some(node) = workflow.nodes.get(&id) else { continue };
        queue
            .extend(node.targets().filter_map(Target::node).map(|to| (to.clone(), region.clone())));
        match node.work.paths() {
            Some(Paths::Branches(parallel)) => {
                queue.extend(parallel.branches.iter().enumerate().map(|(branch, paths)| {
                    (paths.start.clone(), Region::Branch { parallel: id.clone(), branch })
                }));
            }
            Some(Paths::Items(map)) => {
                queue.push_back((map.start.clone(), Region::Item { map: id.clone() }));
            }
            None => {}
        }
    }
    for (id, place) in places {
        if !owner.contains_key(id) {
            reading.mistake(place.at, &format!("nodes.{id}"), Text::Unreachable);
        }
    }
    for (id, region) in owner {
        match region {
            Region::Main => {}
            Region::Branch { parallel, branch } => {
                if let Some(Work::Parallel(parallel)) =
                    workflow.nodes.get_mut(&parallel).map(|node| &mut node.work)
                    && let Some(branch) = parallel.branches.get_mut(branch)
                {
                    branch.nodes.insert(id);
                }
            }
            Region::Item { map } => {
                if let Some(Work::Map(map)) =
                    workflow.nodes.get_mut(&map).map(|node| &mut node.work)
                {
                    map.nodes.insert(id);
                }
            }
        }
    }
    reading.wrong.len() == before
}

fn shown(workflow: &Workflow, region: &Region) -> proto::lang::Words {
    match region {
        Region::Main => Text::MainFlow.into(),
        Region::Item { map } => Text::BodyOf { map }.into(),
        Region::Branch { parallel, branch } => {
            let node = workflow.nodes.get(parallel).map(|node| &node.work);
            let name = if let Some(Work::Parallel(parallel)) = node {
                parallel.branches.get(*branch).map(|branch| branch.name.to_string())
            } else {
                None
            };
            Text::BranchOf { branch: &name.unwrap_or_default(), parallel }.into()
        }
    }
}

fn inside_map(regions: &BTreeMap<NodeId, Region>, workflow: &Workflow, id: &NodeId) -> bool {
    let mut at = regions.get(id);
    while let Some(joins) = at.and_then(Region::joins) {
        if matches!(workflow.nodes.get(joins).map(|node| &node.work), Some(Work::Map(_))) {
            return true;
        }
        at = regions.get(joins);
    }
    false
}

fn ends(node: &Node) -> bool {
    node.next.is_empty() || node.targets().any(|target| *target == Target::End)
}

/// Returns the nodes from which no path leads to an end of their region.
fn endless(workflow: &Workflow) -> Vec<NodeId> {
    let mut ending: BTreeSet<&NodeId> =
        workflow.nodes.iter().filter(|(_, node)| ends(node)).map(|(id, _)| id).collect();
    loop {
        let more: Vec<&NodeId> = workflow
            .nodes
            .iter()
            .filter(|(id, node)| {
                !ending.contains(id)
                    && node.targets().filter_map(Target::node).any(|to| ending.contains(to))
            })
            .map(|(id, _)| id)
            .collect();
        if more.is_empty() {
            return workflow.nodes.keys().filter(|id| !ending.contains(id)).cloned().collect();
        }
        ending.extend(more);
    }
}

/// Returns the edges between the nodes that `takes` accepts.
fn edges<'a>(
    workflow: &'a Workflow,
    takes: impl Fn(&NodeId) -> bool + 'a,
) -> DiGraphMap<&'a NodeId, ()> {
    let mut graph = DiGraphMap::new();
    for (id, node) in &workflow.nodes {
        if takes(id) {
            graph.add_node(id);
            for to in node.targets().filter_map(Target::node).filter(|to| takes(to)) {
                graph.add_edge(id, to, ());
            }
        }
    }
    graph
}

/// Returns the nodes of every circle of a graph, a list for each.
fn circles<'a>(graph: &DiGraphMap<&'a NodeId, ()>) -> Vec<Vec<&'a NodeId>> {
    let mut found = tarjan_scc(graph);
    found.retain(|nodes| match nodes.as_slice() {
        [one] => graph.contains_edge(*one, *one),
        [] | [_, _, ..] => true,
    });
    found
}

/// Returns the first node of every circle in which no node does any work.
fn idle_circles(workflow: &Workflow) -> Vec<NodeId> {
    let idle = |id: &NodeId| {
        let node = workflow.nodes.get(id);
        node.is_some_and(|node| matches!(node.work.kind(), WorkKind::Branch | WorkKind::Set))
    };
    let found = circles(&edges(workflow, idle));
    found.into_iter().filter_map(|nodes| nodes.into_iter().min().cloned()).collect()
}

/// Returns the nodes that can run at once and replace the same key: both nodes and the key.
fn conflicts(
    workflow: &Workflow,
    regions: &BTreeMap<NodeId, Region>,
) -> BTreeSet<(NodeId, NodeId, Key)> {
    let mut writers: BTreeMap<&Key, Vec<&NodeId>> = BTreeMap::new();
    for (id, node) in &workflow.nodes {
        for key in node.write.keys() {
            if workflow.state.get(key).is_some_and(|slot| slot.reduce == Reducer::Replace) {
                writers.entry(key).or_default().push(id);
            }
        }
    }
    let mut found = BTreeSet::new();
    for (key, nodes) in writers {
        for (n, one) in nodes.iter().enumerate() {
            if inside_map(regions, workflow, one) {
                found.insert(((*one).clone(), (*one).clone(), key.clone()));
            }
            for other in nodes.iter().skip(n + 1) {
                if concurrent(regions, one, other) {
                    found.insert(((*one).clone(), (*other).clone(), key.clone()));
                }
            }
        }
    }
    found
}

/// Returns whether two nodes are in different branches of one parallel node.
fn concurrent(regions: &BTreeMap<NodeId, Region>, one: &NodeId, other: &NodeId) -> bool {
    let branches = |id: &NodeId| {
        let mut found = BTreeMap::new();
        let mut at = regions.get(id);
        while let Some(region) = at {
            if let Region::Branch { parallel, branch } = region {
                found.insert(parallel.clone(), *branch);
            }
            at = region.joins().and_then(|joins| regions.get(joins));
        }
        found
    };
    let (one, other) = (branches(one), branches(other));
    one.iter().any(|(parallel, branch)| other.get(parallel).is_some_and(|b| b != branch))
}

/// Warns of tools whose calls must not be repeated, inside of loops and bodies.
fn warn_once(
    workflow: &Workflow,
    places: &Places<'_>,
    known: &Known,
    regions: &BTreeMap<NodeId, Region>,
    reading: &mut Reading,
) {
    let graph = edges(workflow, |_| true);
    let looped: BTreeSet<&NodeId> = circles(&graph).into_iter().flatten().collect();
    for (id, node) in &workflow.nodes {
        let Work::Tool(tool) = &node.work else { continue };
        let once = known.tools.get(&tool.tool).is_some_and(|tool| tool.once);
        if once && (looped.contains(id) || inside_map(regions, workflow, id)) {
            let at = places.get(id).map_or(crate::source::tree::Place::START, |place| place.at);
            reading.warn(at, &format!("nodes.{id}.tool"), Text::OnceInLoop { tool: &tool.tool });
        }
    }
}
