//! Rendering of workflows: mistakes in files, and the outline of a graph.

use ::agents::source::Mistake;
use proto::{
    escape,
    workflow::{Node, NodeId, Paths, Route, Workflow},
};

use super::agents;
use crate::{
    style::{Style, Tone},
    words::Text,
};

/// Renders the result of checking one file.
pub(crate) fn checked(
    style: &Style,
    place: &str,
    mistakes: &[Mistake],
    warnings: &[Mistake],
) -> String {
    let mut out = agents::checked(style, place, mistakes);
    for warning in warnings {
        let warning = warning.text(style.language);
        out.push_str(&format!("{} {}\n", style.paint(Tone::Wait, "!"), escape::line(&warning)));
    }
    out
}

/// Renders the outline: a line for each node in the order in which a job can reach it, branches and
/// bodies below their node.
pub(crate) fn outline(style: &Style, workflow: &Workflow) -> String {
    let Workflow { name, version, about, start, nodes, .. } = workflow;
    let mut out = format!("{name} · {version}");
    if !about.is_empty() {
        out.push_str(&format!(" · {}", escape::line(about)));
    }
    out.push('\n');
    let mut lines = Outline { style, workflow, out, seen: Vec::new() };
    lines.path(start, 1);
    for id in nodes.keys() {
        lines.path(id, 1);
    }
    lines.out
}

struct Outline<'a> {
    style: &'a Style,
    workflow: &'a Workflow,
    out: String,
    seen: Vec<&'a NodeId>,
}

impl<'a> Outline<'a> {
    fn path(&mut self, start: &'a NodeId, depth: usize) {
        let mut queue = vec![start];
        while let Some(id) = queue.pop() {
            let Some(node) = self.workflow.nodes.get(id).filter(|_| !self.seen.contains(&id))
            else {
                continue;
            };
            self.seen.push(id);
            self.line(id, node, depth);
            let starts = node.work.paths().into_iter().flat_map(Paths::starts);
            for start in starts {
                self.path(start, depth + 1);
            }
            let targets: Vec<_> = node.targets().filter_map(|target| target.node()).collect();
            queue.extend(targets.into_iter().rev());
        }
    }

    fn line(&mut self, id: &NodeId, node: &Node, depth: usize) {
        let indent = "  ".repeat(depth);
        let kind = node.work.kind().as_str();
        let mut ways: Vec<String> = node.next.iter().map(|route| self.route(route)).collect();
        if let Some(timeout) = node.work.timeout() {
            let after = timeout.after_ms / 1000;
            let to = &timeout.then;
            ways.push(self.style.say(Text::WorkflowAfter { to, seconds: &after }));
        }
        if let Some(to) = &node.on_error {
            ways.push(self.style.say(Text::WorkflowOnError { to }));
        }
        let title = node.title.as_ref().map(|title| format!(" “{}”", escape::line(title)));
        let ways =
            if ways.is_empty() { String::new() } else { format!(" → {}", ways.join(", ")) };
        self.out.push_str(&format!("{indent}{id} ({kind}){}{ways}\n", title.unwrap_or_default()));
    }

    fn route(&self, route: &Route) -> String {
        let to = &route.to;
        match &route.when {
            Some(when) => {
                self.style.say(Text::WorkflowWhen { to, when: &escape::line(when.as_str()) })
            }
            None => to.to_string(),
        }
    }
}
