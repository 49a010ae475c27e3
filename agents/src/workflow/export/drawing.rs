//! The nodes and lines of a drawing, in a fixed order.

use proto::{
    step::StepState,
    workflow::{AgentTask, Edge, EdgeKind, Join, Node, NodeId, Place, Work, WorkKind, Workflow},
};

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
    /// State in a job; absent without a job, and for what has none.
    pub(super) state: Option<StepState>,
    /// Identifier of the node whose paths a join waits for.
    pub(super) joins: Option<String>,
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
#[derive(Clone)]
pub(super) struct Line {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) label: String,
    pub(super) is_dashed: bool,
    /// Number of times that a job's paths took it; absent without a job.
    pub(super) taken: Option<u32>,
}

impl Line {
    /// Returns whether no path of the job took the line.
    pub(super) fn is_unused(&self) -> bool {
        self.taken == Some(0)
    }

    /// Returns whether a path of the job took the line.
    pub(super) fn is_used(&self) -> bool {
        self.taken.is_some_and(|times| times > 0)
    }
}

impl Drawing {
    /// Collects the nodes and lines of a workflow.
    pub(super) fn of(workflow: &Workflow, marks: &Marks) -> Self {
        let mut drawing = Self { shapes: Vec::new(), lines: Vec::new() };
        drawing.shape("start", vec!["start".to_owned()], Form::Circle, None);
        // A path of a job always enters the first node.
        let begun = marks.taken.as_ref().map(|_| 1);
        drawing.lines.push(Line {
            from: "start".to_owned(),
            to: node_id(&workflow.start),
            label: String::new(),
            is_dashed: false,
            taken: begun,
        });
        for (id, node) in &workflow.nodes {
            drawing.node(id, node, marks.nodes.get(id));
        }
        for (place, edge) in workflow.edges().iter().enumerate() {
            let taken = marks.taken.as_ref().map(|taken| taken.get(place).copied().unwrap_or(0));
            drawing.lines.push(line(edge, taken));
        }
        if drawing.lines.iter().any(|line| line.to == END) {
            drawing.shape(END, vec!["end".to_owned()], Form::Circle, None);
        }
        drawing
    }

    fn shape(&mut self, id: &str, lines: Vec<String>, form: Form, state: Option<StepState>) {
        self.shapes.push(Shape { id: id.to_owned(), lines, form, state, joins: None });
    }

    fn node(&mut self, id: &NodeId, node: &Node, mark: Option<&Mark>) {
        let own = node_id(id);
        let mut lines = vec![node.title.clone().unwrap_or_else(|| id.to_string())];
        lines.push(detail(&node.work));
        lines.extend(mark.map(Mark::line));
        let lines = lines.iter().map(|line| short(line)).collect();
        self.shape(&own, lines, form(node.work.kind()), mark.map(|mark| mark.state));
        if let Some(paths) = node.work.paths() {
            let label = match paths.join() {
                Join::All => "join all".to_owned(),
                Join::Any => "join any".to_owned(),
                Join::AtLeast(n) => format!("join at least {n}"),
            };
            self.shapes.push(Shape {
                id: join_id(&own),
                lines: vec![label],
                form: Form::Bar,
                state: None,
                joins: Some(own),
            });
        }
    }
}

/// Returns the line of an edge, with the number of times that it was taken.
fn line(edge: &Edge, taken: Option<u32>) -> Line {
    let name = || edge.name.clone().unwrap_or_default();
    let (label, is_dashed) = match edge.kind {
        EdgeKind::Next => (edge.when.as_ref().map(ToString::to_string).unwrap_or_default(), false),
        EdgeKind::Branch => (name(), false),
        EdgeKind::Item => (format!("each {}", name()), false),
        EdgeKind::Timeout => (after(edge.after_ms.unwrap_or_default()), true),
        EdgeKind::Error => ("error".to_owned(), true),
    };
    let label = match taken {
        Some(times) if times > 1 => format!("{} ×{times}", short(&label)),
        Some(_) | None => short(&label),
    };
    let label = label.trim().to_owned();
    Line { from: place_id(&edge.from), to: place_id(&edge.to), label, is_dashed, taken }
}

/// Returns the label of a timeout, in the largest unit that divides it.
fn after(ms: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s")];
    let unit = UNITS.into_iter().find(|(unit, _)| ms >= *unit && ms.is_multiple_of(*unit));
    unit.map_or_else(
        || format!("after {ms} ms"),
        |(unit, name)| format!("after {} {name}", ms / unit),
    )
}

/// Identifier of the end.
const END: &str = "end";

fn place_id(place: &Place) -> String {
    match place {
        Place::Node(id) => node_id(id),
        Place::Join(id) => join_id(&node_id(id)),
        Place::End => END.to_owned(),
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
    let kind = match work {
        Work::Agent(agent) => match &agent.does {
            AgentTask::Here { .. } | AgentTask::Named { .. } => kind,
            AgentTask::Workflow { .. } => "workflow",
        },
        Work::Model(_)
        | Work::Tool(_)
        | Work::Human(_)
        | Work::Branch {}
        | Work::Parallel(_)
        | Work::Map(_)
        | Work::Wait(_)
        | Work::Event(_)
        | Work::Set {}
        | Work::End(_) => kind,
    };
    work.names().map_or_else(|| kind.to_owned(), |name| format!("{kind} {name}"))
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
