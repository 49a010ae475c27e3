//! The screen of one job: plan and time above, text and log below; one of them on a narrow terminal.

use proto::{
    diff::JobDiff,
    escape,
    event::{Happened, Stream},
    job::Outcome,
};
use ratatui::layout::Rect;

use super::{
    WIDE,
    cells::{Pen, first, wrapped},
    waterfall,
};
use crate::{
    model::{JobScreen, Pane},
    render::{children, diff, event, line::Line, question, style::Tone, tree},
    words::Text,
};

/// Fewest rows for two panes above each other.
const TALL: u16 = 12;

pub(super) fn draw(pen: &mut Pen<'_>, area: Rect) {
    let Some(job) = &pen.model.job else {
        return pen.empty(area, &pen.say(Text::NoJob));
    };
    if area.width < WIDE || area.height < TALL {
        return pane(pen, area, job, job.pane);
    }
    let left = area.width / 2;
    let upper = area.height.div_ceil(2);
    let (x, y) = (area.x + left + 1, area.y + upper);
    let (right, lower) = (area.width - left - 1, area.height - upper);
    for row in 0..area.height {
        let rail = Rect { x: area.x + left, y: area.y + row, width: 1, height: 1 };
        pen.text(rail, 0, Tone::Dim, "│");
    }
    pane(pen, Rect { width: left, height: upper, ..area }, job, Pane::Plan);
    pane(pen, Rect { x, width: right, height: upper, ..area }, job, Pane::Time);
    pane(pen, Rect { y, width: left, height: lower, ..area }, job, Pane::Said);
    pane(pen, Rect { x, y, width: right, height: lower }, job, Pane::Log);
}

fn pane(pen: &mut Pen<'_>, area: Rect, job: &JobScreen, pane: Pane) {
    let is_focused = job.pane == pane;
    let title = match (pane, job.compares) {
        (Pane::Said, true) => pen.say(Text::Difference),
        (_, _) => pen.say(pane.title()),
    };
    let inner = pen.titled(area, &title, is_focused);
    let scrolled = if is_focused { job.scrolled } else { 0 };
    match pane {
        Pane::Plan => plan(pen, inner, job, is_focused),
        Pane::Time => waterfall::draw(pen, inner, job, scrolled),
        Pane::Said => {
            let lines = said(pen, job, usize::from(inner.width));
            // A question and a result are read from their beginning.
            let hidden = lines.len().saturating_sub(usize::from(inner.height));
            let from = if is_focused { hidden.saturating_sub(scrolled.min(hidden)) } else { 0 };
            let from = if scrolled == 0 { 0 } else { from };
            pen.lines(inner, lines.iter().skip(from));
            if from == 0 && hidden > 0 && inner.height > 0 {
                let more = pen.say(Text::MoreLines { count: &(hidden + 1) });
                let more = super::cells::pad(&more, usize::from(inner.width));
                pen.text(inner, inner.height - 1, Tone::Dim, &more);
            }
        }
        Pane::Log => {
            let lines = log(pen, job, usize::from(inner.width));
            pen.tail(inner, &lines, scrolled);
        }
    }
}

fn plan(pen: &mut Pen<'_>, area: Rect, job: &JobScreen, is_focused: bool) {
    let model = pen.model;
    let Some(view) = job.view() else { return pen.empty(area, &pen.say(Text::Loading)) };
    let style = model.style(usize::from(area.width));
    let mut lines: Vec<(Option<usize>, Line)> = Vec::new();
    match &view.plan {
        Some(plan) => {
            let rows = tree::plan_rows(&style, plan, &job.said()).into_iter();
            lines.extend(rows.map(|row| (row.step.filter(|_| row.is_head), row.line)));
        }
        None => {
            let goal = escape::line(&view.goal).into_owned();
            lines.extend(
                wrapped(Tone::Plain, &goal, usize::from(area.width.saturating_sub(4)))
                    .into_iter()
                    .map(|line| (None, indented(&line))),
            );
            let words = match view.outcome {
                Some(_) => Text::HadNoPlan,
                None => Text::NoPlanYet,
            };
            lines.push((None, Line::new().add(Tone::Dim, format!("  {}", pen.say(words)))));
        }
    }
    let below = children::rows(view).into_iter();
    lines.extend(below.map(|line| (None, line)));
    if let Some(mark) = &view.untrusted {
        let words = pen.say(Text::SawOutside { tool: &mark.tool });
        lines.push((None, Line::new().add(Tone::Wait, format!("  {words}"))));
    }
    let at = lines.iter().position(|(step, _)| *step == Some(job.step)).unwrap_or_default();
    let from = first(lines.len(), at, usize::from(area.height));
    for (row, (step, line)) in (0..area.height).zip(lines.iter().skip(from)) {
        pen.line(area, row, line);
        if *step == Some(job.step) && is_focused {
            pen.mark_row(area, row);
        }
    }
}

fn indented(line: &Line) -> Line {
    let words: String = line.cut(usize::MAX).into_iter().map(|(_, piece)| piece).collect();
    Line::new().add(Tone::Plain, format!("  {words}"))
}

/// The text of the job: the difference, the open question, the result, or what agents say.
fn said(pen: &Pen<'_>, job: &JobScreen, width: usize) -> Vec<Line> {
    let model = pen.model;
    let style = model.style(width);
    let Some(view) = job.view() else { return Vec::new() };
    if let (true, Some(now)) = (job.compares, job.now()) {
        return diff::rows(&style, &JobDiff::between(view, now));
    }
    if let Some(open) = view.questions.first() {
        let body = question::body(&style, open);
        return body.lines().map(|line| Line::new().add(Tone::Plain, line)).collect();
    }
    let room = width.saturating_sub(2);
    match &view.outcome {
        Some(Outcome::Completed { summary, .. }) => {
            return wrapped(Tone::Plain, &escape::text(summary), room);
        }
        Some(Outcome::Failed { reason, message, .. }) => {
            let head = Line::new().add(Tone::Bad, format!("✗ {}", reason.as_str()));
            let body = wrapped(Tone::Plain, &escape::text(message), room);
            return std::iter::once(head).chain(body).collect();
        }
        Some(Outcome::Canceled { reason }) => {
            let reason = reason.as_deref().unwrap_or_default();
            return vec![Line::new().add(Tone::Dim, format!("⊘ {}", escape::line(reason)))];
        }
        None => {}
    }
    let mut lines = Vec::new();
    for (step, words) in job.said() {
        lines.push(Line::new().add(Tone::Dim, format!("{step} ┆")));
        lines.extend(wrapped(Tone::Plain, &escape::text(words.trim_end()), room));
    }
    if let Some(words) = job.planning() {
        lines.push(Line::new().add(Tone::Dim, format!("{} ┆", pen.say(Text::Planner))));
        lines.extend(wrapped(Tone::Plain, &escape::text(words.trim_end()), room));
    }
    if lines.is_empty() {
        lines.extend(messages(job, room));
    }
    lines
}

/// The last messages of agents.
fn messages(job: &JobScreen, room: usize) -> Vec<Line> {
    let messages = job.shown_events().iter().filter_map(|event| match &event.happened {
        Happened::Message(message) => Some(message),
        Happened::Error(_)
        | Happened::Tool(_)
        | Happened::Interaction(_)
        | Happened::Usage(_)
        | Happened::Plan(_)
        | Happened::Step(_)
        | Happened::Job(_)
        | Happened::Turn(_)
        | Happened::Node(_)
        | Happened::Artifact(_)
        | Happened::Notice(_) => None,
    });
    let last: Vec<_> = messages.collect();
    let last = last.iter().rev().take(8).rev();
    last.flat_map(|message| {
        let tone = match message.stream {
            Stream::Result => Tone::Plain,
            Stream::Thought | Stream::Summary => Tone::Dim,
        };
        wrapped(tone, &escape::text(message.text.trim()), room)
    })
    .collect()
}

/// The events, with their times of day.
fn log(pen: &Pen<'_>, job: &JobScreen, width: usize) -> Vec<Line> {
    let style = pen.model.style(width);
    let events = job.shown_events().iter();
    events
        .flat_map(|happened| {
            let time = happened.time.strftime("%H:%M:%S").to_string();
            event::rows(&style, &happened.happened).into_iter().enumerate().map(move |(n, row)| {
                let time = if n == 0 { time.clone() } else { " ".repeat(8) };
                row.cut(usize::MAX)
                    .into_iter()
                    .fold(Line::new().add(Tone::Dim, format!("{time} ")), |line, (tone, piece)| {
                        line.add(tone, piece)
                    })
            })
        })
        .collect()
}
