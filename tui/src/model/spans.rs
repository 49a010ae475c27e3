//! The bars of the waterfall: planning, steps, and the calls of steps, with the parts in which they
//! wait. A projection of the job's bars, for few columns.

use client::spans::{Branch, Span, SpanKind, spans, tree};
use jiff::Timestamp;
use proto::event::Event;

use crate::render::{marks, style::Tone};

/// A bar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bar {
    /// Name, unescaped.
    pub label: String,
    /// 0 for planning, steps and waits of the job, 1 for calls.
    pub depth: usize,
    /// Mark of the state.
    pub mark: &'static str,
    /// Tone of the state.
    pub tone: Tone,
    /// Parts of the bar, in order; the last one is open while it goes on.
    pub parts: Vec<Part>,
}

/// A part of a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Begin.
    pub from: Timestamp,
    /// End; absent while it goes on.
    pub to: Option<Timestamp>,
    /// `true` for a wait, `false` for work.
    pub waits: bool,
}

impl Bar {
    /// Begin of the bar.
    #[must_use]
    pub fn from(&self) -> Option<Timestamp> {
        self.parts.first().map(|part| part.from)
    }

    /// End of the bar; `None` while it goes on.
    #[must_use]
    pub fn to(&self) -> Option<Timestamp> {
        self.parts.last().and_then(|part| part.to)
    }
}

/// Computes the bars. `planning` names the planner's, `waiting` the waits of the job itself.
#[must_use]
pub fn bars(events: &[Event], planning: &str, waiting: &str) -> Vec<Bar> {
    let all = spans(events);
    let branches = tree(&all);
    branches
        .iter()
        .filter_map(|Branch { span, depth }| {
            let named =
                |name: &str| if span.label.is_empty() { name } else { &span.label }.to_owned();
            let (label, depth) = match span.kind {
                SpanKind::Step => (span.label.clone(), 0),
                SpanKind::Call => (span.label.clone(), 1),
                SpanKind::Turn if span.step.is_none() => (named(planning), 0),
                SpanKind::Waiting if *depth == 1 => (named(waiting), 0),
                SpanKind::Job
                | SpanKind::Turn
                | SpanKind::Attempt
                | SpanKind::Waiting
                | SpanKind::Queue => return None,
            };
            let (mark, tone) = marks::span(span.state);
            let waits = all.iter().filter(|below| below.parent == Some(span.id));
            let parts = match span.kind {
                SpanKind::Waiting => vec![Part { from: span.begin, to: span.end, waits: true }],
                SpanKind::Step
                | SpanKind::Call
                | SpanKind::Turn
                | SpanKind::Job
                | SpanKind::Attempt
                | SpanKind::Queue => parts(span, waits),
            };
            let is_waiting = parts.last().is_some_and(|part| part.waits && part.to.is_none());
            let (mark, tone) = if is_waiting { ("⏸", Tone::Wait) } else { (mark, tone) };
            Some(Bar { label, depth, mark, tone, parts })
        })
        .collect()
}

/// Divides a bar at the waits within it.
fn parts<'a>(span: &Span, below: impl Iterator<Item = &'a Span>) -> Vec<Part> {
    let (mut parts, mut at) = (Vec::new(), Some(span.begin));
    for wait in below.filter(|below| matches!(below.kind, SpanKind::Waiting | SpanKind::Queue)) {
        let Some(from) = at else { break };
        if from < wait.begin {
            parts.push(Part { from, to: Some(wait.begin), waits: false });
        }
        parts.push(Part { from: wait.begin.max(from), to: wait.end, waits: true });
        at = wait.end;
    }
    match (at, span.end) {
        (Some(from), None) => parts.push(Part { from, to: None, waits: false }),
        (Some(from), Some(to)) if from < to || parts.is_empty() => {
            parts.push(Part { from, to: Some(to), waits: false });
        }
        (Some(_), Some(_)) | (None, _) => {}
    }
    parts
}
