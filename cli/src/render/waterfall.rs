//! Rendering of a job's bars in time: a tree at the left, bars over one time line at the right.

use client::spans::{Branch, Span, SpanKind, SpanState, tree};
use jiff::Timestamp;
use proto::escape;

use crate::{
    render::{line::Line, marks},
    style::{Style, Tone, lasted},
    text,
    words::Text,
};

/// Columns of a duration at the right, with the space before it.
const LASTED: usize = 9;
/// Fewest columns of the bars; with less space there are none.
const BARS_MIN: usize = 12;
/// Share of the columns that the tree has at most, in percent.
const TREE_PERCENT: usize = 45;

/// Renders the bars, one a line. A bar that a rollback took out is dim.
pub(crate) fn show(style: &Style, spans: &[Span]) -> String {
    let Some(job) = spans.first() else {
        return format!("{}\n", style.say(Text::NoSpans));
    };
    let branches = tree(spans);
    let columns = style.columns();
    let names: Vec<Line> = branches.iter().map(|branch| name(style, branch)).collect();
    let widest = names.iter().map(Line::width).max().unwrap_or_default();
    let left = widest.min(columns * TREE_PERCENT / 100);
    let room = columns.saturating_sub(left + LASTED + 1);
    let bars = (room >= BARS_MIN).then_some(room);
    let line = Timeline { begin: job.begin, end: end(style, spans) };
    let left = if bars.is_some() { left } else { columns.saturating_sub(LASTED + 1) };
    let rows = branches.iter().zip(names).map(|(branch, name)| {
        let span = branch.span;
        let name = name.render(&Style { width: Some(left), color: false, ..*style });
        let pad = " ".repeat(left.saturating_sub(text::width(&name)));
        let (_, tone) = marks::span(span.state);
        let tone = if span.taken_out { Tone::Dim } else { tone };
        let bar = bars.map(|columns| line.bar(span, columns)).unwrap_or_default();
        let took = lasted(span.begin, span.end.unwrap_or(line.end));
        let row = Line::new()
            .add(if span.taken_out { Tone::Dim } else { Tone::Plain }, format!("{name}{pad}"))
            .add(bar_tone(span, tone), format!(" {bar}"))
            .add(Tone::Dim, format!("{took:>LASTED$}"));
        format!("{}\n", row.render(style))
    });
    let rows: String = rows.collect();
    let head = Text::SpansFrom { at: &style.clock(job.begin), took: &lasted(line.begin, line.end) };
    let head = Line::new().add(Tone::Plain, style.say(head)).render(style);
    let key = Line::new().add(Tone::Dim, style.say(Text::SpansKey)).render(style);
    format!("{head}\n{rows}{key}\n")
}

/// Returns the end of the time line: the job's end, or now.
fn end(style: &Style, spans: &[Span]) -> Timestamp {
    let job = spans.first().and_then(|job| job.end);
    let last = spans.iter().filter_map(|span| span.end.max(Some(span.begin))).max();
    job.or(last.max(Some(style.now))).unwrap_or(style.now)
}

fn name(style: &Style, branch: &Branch<'_>) -> Line {
    let Branch { span, depth } = branch;
    let (mark, tone) = marks::span(span.state);
    let label = escape::line(&span.label);
    let label = match (span.kind, span.step.as_ref(), span.attempt) {
        (SpanKind::Job | SpanKind::Step | SpanKind::Call, ..) => label.into_owned(),
        (SpanKind::Turn, Some(_), _) => style.say(Text::SpanTurn),
        (SpanKind::Turn, None, _) => style.say(Text::SpanPlan),
        (SpanKind::Attempt, _, number) => {
            style.say(Text::SpanAttempt { number: &number.unwrap_or(1) })
        }
        (SpanKind::Waiting, ..) if label.is_empty() => style.say(Text::SpanWaiting),
        (SpanKind::Waiting, ..) => style.say(Text::SpanWaitingFor { what: &label }),
        (SpanKind::Queue, ..) => style.say(Text::SpanQueue),
    };
    Line::new().add(tone, format!("{}{mark} ", "  ".repeat(*depth))).add(Tone::Plain, label)
}

fn bar_tone(span: &Span, tone: Tone) -> Tone {
    match span.kind {
        SpanKind::Waiting if !span.taken_out => Tone::Wait,
        SpanKind::Queue => Tone::Dim,
        SpanKind::Waiting
        | SpanKind::Job
        | SpanKind::Step
        | SpanKind::Turn
        | SpanKind::Call
        | SpanKind::Attempt => tone,
    }
}

/// The time that the bars' columns stand for.
struct Timeline {
    begin: Timestamp,
    end: Timestamp,
}

impl Timeline {
    /// Draws a bar in this many columns.
    fn bar(&self, span: &Span, columns: usize) -> String {
        let from = self.column(span.begin, columns).min(columns.saturating_sub(1));
        let to = self.column(span.end.unwrap_or(self.end), columns).clamp(from + 1, columns);
        let fill = match span.kind {
            SpanKind::Job | SpanKind::Step => "━",
            SpanKind::Turn | SpanKind::Call | SpanKind::Attempt => "█",
            SpanKind::Waiting => "·",
            SpanKind::Queue => "░",
        };
        let mut bar = format!("{}{}", " ".repeat(from), fill.repeat(to - from));
        if span.state == SpanState::Open {
            bar.pop();
            bar.push('▸');
        }
        format!("{bar}{}", " ".repeat(columns - to))
    }

    /// Returns the column of a time.
    fn column(&self, at: Timestamp, columns: usize) -> usize {
        let whole = self.end.duration_since(self.begin).as_millis().max(1);
        let part = at.duration_since(self.begin).as_millis().clamp(0, whole);
        let columns = i128::try_from(columns).unwrap_or(i128::MAX);
        usize::try_from(part.saturating_mul(columns) / whole).unwrap_or_default()
    }
}
