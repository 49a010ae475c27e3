//! The screen of jobs: a row for each, and what holds the one that the cursor is on.

use proto::{escape, view::JobSummary};
use ratatui::layout::Rect;

use super::cells::{Pen, pad, pad_left, wrapped};
use crate::{
    render::{line::Line, marks, style::Tone},
    words::Text,
};

/// Rows below the list about the job that the cursor is on.
const DETAILS: u16 = 6;

pub(super) fn draw(pen: &mut Pen<'_>, area: Rect) {
    let model = pen.model;
    let listed = model.listed();
    if listed.is_empty() {
        let words = match (model.has_jobs, model.filter.as_str()) {
            (false, _) => pen.say(Text::Loading),
            (true, "") => pen.say(Text::NoJobsYet),
            (true, filter) => pen.say(Text::NoMatch { filter: &escape::line(filter) }),
        };
        return pen.empty(area, &words);
    }
    let has_details = area.height >= 3 * DETAILS;
    let list_height = if has_details { area.height - DETAILS } else { area.height };
    let list = Rect { height: list_height, ..area };
    let width = usize::from(area.width.saturating_sub(2));
    let rows: Vec<Line> = listed.iter().map(|job| row(pen, job, width)).collect();
    pen.list(list, &rows, model.cursor());
    if let Some(job) = listed.get(model.cursor()).filter(|_| has_details) {
        let below = Rect { y: area.y + list_height, height: DETAILS, ..area };
        details(pen, below, job);
    }
}

fn row(pen: &Pen<'_>, job: &JobSummary, width: usize) -> Line {
    let style = pen.model.style(width);
    let (mark, tone) = marks::job(job.state);
    let is_marked = pen.model.marks.contains(&job.job);
    let steps = match job.steps {
        0 => String::new(),
        steps => format!("{}/{steps}", job.steps_done),
    };
    let age = style.time(job.created);
    let held = job.why.as_ref().filter(|why| why.reason.is_hold());
    let why = held.map(|why| escape::line(&why.reason.text(style.language)).into_owned());
    let (age_width, agent_width) = match width {
        0..55 => (0, 0),
        55..100 => (10, 0),
        _ => (10, 14),
    };
    let why_width = if width >= 78 { width / 3 } else { 0 };
    let rest = width.saturating_sub(4 + 6 + age_width + agent_width + why_width);
    let why_tone = match held {
        Some(why) if why.reason.is_fault() => Tone::Bad,
        Some(_) => Tone::Wait,
        None => Tone::Dim,
    };
    let mut line = Line::new()
        .add(Tone::Wait, if is_marked { "● " } else { "" })
        .add(tone, format!("{mark} "));
    let goal = rest.saturating_sub(if is_marked { 2 } else { 0 });
    line = line.add(Tone::Plain, pad(&escape::line(&job.goal), goal));
    if why_width > 0 {
        line = line.add(Tone::Plain, "  ");
        line = line.add(why_tone, pad(&why.unwrap_or_default(), why_width - 2));
    }
    line = line.add(Tone::Plain, pad_left(&steps, 6));
    if agent_width > 0 {
        line = line.add(Tone::Dim, format!("  {}", pad(job.agent.as_str(), agent_width - 2)));
    }
    if age_width > 0 {
        line = line.add(Tone::Dim, pad_left(&age, age_width));
    }
    line
}

fn details(pen: &mut Pen<'_>, area: Rect, job: &JobSummary) {
    let model = pen.model;
    let language = model.language;
    let inner = pen.titled(area, job.job.as_str(), false);
    let inner = Rect { x: inner.x + 2, width: inner.width.saturating_sub(4), ..inner };
    let width = usize::from(inner.width);
    let (mark, tone) = marks::job(job.state);
    let activity = job.sub_status.map(|sub| format!(" · {sub}")).unwrap_or_default();
    let notices = job.notices.iter().map(|notice| format!(" · ⚠ {}", notice.as_str()));
    let failure = job.failure.map(|reason| format!(" · {}", reason.as_str())).unwrap_or_default();
    let mut lines = vec![
        Line::new()
            .add(tone, format!("{mark} {}{activity}{failure}", job.state))
            .add(Tone::Wait, notices.collect::<String>())
            .add(Tone::Dim, format!(" · {} · {}", job.agent, model.style(width).time(job.created))),
    ];
    let mut goal = wrapped(Tone::Plain, &escape::line(&job.goal), width);
    goal.truncate(2);
    lines.extend(goal);
    if let Some(why) = &job.why {
        lines.extend(wrapped(tone, &escape::line(&why.reason.text(language)), width));
        let next = why.reason.unblock(&job.job, language);
        lines.extend(next.iter().flat_map(|next| wrapped(Tone::Dim, &escape::line(next), width)));
    }
    pen.lines(inner, &lines);
}
