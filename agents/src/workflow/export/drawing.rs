//! The nodes and lines of a drawing, in a fixed order.

use proto::workflow::{Join, Node, NodeId, Paths, Region, Target, Work, WorkKind, Workflow};

use super::marks::{Mark, Marks};

/// Maximum length of a label, in characters.
const LABEL_CHARS: usize = 60;

/// A drawing before it has a format.
pub(super) struct Drawing {
    pub(super) shapes: Vec<Shape>,
    pub(super) lines: Vec<Line>,
}

/// A node of a drawing.
pub(super) struct Shape {
    pub(super) id: String,
    pub(super) lines: Vec<String>,
    pub(super) form: Form,
}

/// The forms of nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Work.
    Box,
    /// A choice.
    Diamond,
    /// The beginning of parallel paths, or their join.
    Bar,
    /// A person, an event or a pause.
    Round,
    /// The start or an end.
    Circle,
}

/// A line between two nodes.
pub(super) struct Line {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) label: String,
    pub(super) is_dashed: bool,
}

impl Drawing {
    /// Collects the nodes and lines of a workflow.
    pub(super) fn of(workflow: &Workflow, marks: &Marks) -> Self {
        let regions = workflow.regions();
        let mut drawing = Self { shapes: Vec::new(), lines: Vec::new() };
        drawing.shape("start", vec!["start".to_owned()], Form::Circle);
        drawing.line("start", &node_id(&workflow.start), "", false);
        for (id, node) in &workflow.nodes {
            drawing.node(id, node, regions.get(id).unwrap_or(&Region::Main), marks.get(id));
        }
        if drawing.lines.iter().any(|line| line.to == "end") {
            drawing.shape("end", vec!["end".to_owned()], Form::Circle);
        }
        drawing
    }

    fn shape(&mut self, id: &str, lines: Vec<String>, form: Form) {
        self.shapes.push(Shape { id: id.to_owned(), lines, form });
    }

    fn line(&mut self, from: &str, to: &str, label: &str, is_dashed: bool) {
        let label = short(label);
        self.lines.push(Line { from: from.to_owned(), to: to.to_owned(), label, is_dashed });
    }

    fn node(&mut self, id: &NodeId, node: &Node, region: &Region, mark: Option<&Mark>) {
        let own = node_id(id);
        let mut lines = vec![node.title.clone().unwrap_or_else(|| id.to_string())];
        lines.push(detail(&node.work));
        if let Some(Mark { state, visits, cost }) = mark {
            lines.push(format!("{state} ×{visits} {cost}").trim().to_owned());
        }
        let lines = lines.iter().map(|line| short(line)).collect();
        self.shape(&own, lines, form(node.work.kind()));
        let leaves = match node.work.paths() {
            Some(Paths::Branches(parallel)) => {
                let join = self.join(&own, parallel.join);
                for branch in &parallel.branches {
                    self.line(&own, &node_id(&branch.start), branch.name.as_str(), false);
                }
                join
            }
            Some(Paths::Items(map)) => {
                let join = self.join(&own, map.join);
                let label = format!("each {} of {}", map.item, map.over);
                self.line(&own, &node_id(&map.start), &label, false);
                join
            }
            None => own,
        };
        let to = |target: &Target| match (target, region.joins()) {
            (Target::Node(id), _) => node_id(id),
            (Target::End, None) => "end".to_owned(),
            (Target::End, Some(joins)) => join_id(&node_id(joins)),
        };
        for route in &node.next {
            let label = route.when.as_ref().map(ToString::to_string).unwrap_or_default();
            self.line(&leaves, &to(&route.to), &label, false);
        }
        if let Some(timeout) = node.work.timeout() {
            let label = format!("after {} s", timeout.after_ms / 1000);
            self.line(&leaves, &to(&timeout.then), &label, true);
        }
        if let Some(target) = &node.on_error {
            self.line(&leaves, &to(target), "error", true);
        }
    }

    fn join(&mut self, own: &str, join: Join) -> String {
        let label = match join {
            Join::All => "join all".to_owned(),
            Join::Any => "join any".to_owned(),
            Join::AtLeast(n) => format!("join at least {n}"),
        };
        let id = join_id(own);
        self.shape(&id, vec![label], Form::Bar);
        id
    }
}

/// Returns the identifier of a node in a drawing. Letters, digits and `_` need no quotes in any
/// format, and `n_` keeps it apart from keywords.
fn node_id(id: &NodeId) -> String {
    let mut out = String::from("n_");
    for c in id.as_str().chars() {
        // No id has `--`, and `__` would also stand for two underscores.
        if c == '-' { out.push_str("_d_") } else { out.push(c) }
    }
    out
}

fn join_id(own: &str) -> String {
    format!("j{own}")
}

fn detail(work: &Work) -> String {
    let kind = work.kind().as_str();
    match work {
        Work::Tool(tool) => format!("{kind} {}", tool.tool),
        Work::Event(event) => format!("{kind} {}", event.event),
        Work::Agent(agent) => match &agent.does {
            proto::workflow::AgentTask::Here { .. } => kind.to_owned(),
            proto::workflow::AgentTask::Named { agent, .. } => format!("{kind} {agent}"),
            proto::workflow::AgentTask::Workflow { workflow, .. } => format!("workflow {workflow}"),
        },
        Work::Model(_)
        | Work::Human(_)
        | Work::Branch {}
        | Work::Parallel(_)
        | Work::Map(_)
        | Work::Wait(_)
        | Work::Set {}
        | Work::End(_) => kind.to_owned(),
    }
}

fn form(kind: WorkKind) -> Form {
    match kind {
        WorkKind::Model | WorkKind::Tool | WorkKind::Agent | WorkKind::Set => Form::Box,
        WorkKind::Branch => Form::Diamond,
        WorkKind::Parallel | WorkKind::Map => Form::Bar,
        WorkKind::Human | WorkKind::Wait | WorkKind::Event => Form::Round,
        WorkKind::End => Form::Circle,
    }
}

/// Returns a text on one line, truncated.
fn short(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().count() <= LABEL_CHARS {
        return text;
    }
    let kept: String = text.chars().take(LABEL_CHARS - 1).collect();
    format!("{kept}…")
}
