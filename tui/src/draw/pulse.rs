//! The screen of numbers: jobs by state, rates over time, and the load of the pools.

use std::collections::BTreeMap;

use proto::{door::Counted, job::JobState};
use ratatui::{
    layout::Rect,
    widgets::{Sparkline, Widget},
};

use super::cells::{Pen, below, pad, pad_left};
use crate::{
    render::{line::Line, marks, style::Tone},
    words::Text,
};

/// Columns of a label and its number.
const LABEL: u16 = 26;

pub(super) fn draw(pen: &mut Pen<'_>, area: Rect) {
    let model = pen.model;
    if model.pulse.is_empty() {
        return pen.empty(area, &pen.say(Text::Loading));
    }
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let counts = pen.titled(inner, &pen.say(Text::ByState), false);
    let rows = numbers(pen, counts);
    let rest = below(counts, rows + u16::from(counts.height > 12));
    let pools = pen.titled(rest, &pen.say(Text::Pools), false);
    let lines = pools_lines(pen, usize::from(pools.width));
    pen.lines(pools, &lines);
}

/// Draws a row for each state: its number now, and its course. Returns the number of rows.
fn numbers(pen: &mut Pen<'_>, area: Rect) -> u16 {
    type Of = fn(&Counted) -> u64;
    let rows: [(JobState, Text<'static>, Of, bool); 4] = [
        (JobState::Working, Text::Open, |c| c.open, false),
        (JobState::Completed, Text::Completed, |c| c.completed, true),
        (JobState::Failed, Text::Failed, |c| c.failed, true),
        (JobState::Canceled, Text::Canceled, |c| c.canceled, true),
    ];
    let pulse = &pen.model.pulse;
    for (row, (state, name, of, grows)) in (0..area.height).zip(rows) {
        let (mark, tone) = marks::job(state);
        let number = pulse.last().map(|counted| of(&counted)).unwrap_or_default();
        let label = pad(&pen.say(name), 12);
        let line = Line::new()
            .add(tone, format!("{mark} "))
            .add(Tone::Plain, label)
            .add(Tone::Strong, pad_left(&number.to_string(), 8));
        pen.line(area, row, &line);
        let (course, rate) = match grows {
            true => (pulse.growth(of), pen.say(Text::PerMinute { count: &pulse.per_minute(of) })),
            false => (pulse.values(of), String::new()),
        };
        let rate_width = 12_u16;
        let room = area.width.saturating_sub(LABEL + rate_width + 2);
        let from = course.len().saturating_sub(usize::from(room));
        let shown = course.get(from..).unwrap_or_default();
        let bar = Rect { x: area.x + LABEL, y: area.y + row, width: room, height: 1 };
        if room > 4 {
            Sparkline::default().data(shown).style(pen.look(tone)).render(bar, pen.buffer);
        }
        let right = Rect {
            x: area.right().saturating_sub(rate_width),
            y: area.y + row,
            width: rate_width.min(area.width),
            height: 1,
        };
        if area.width > LABEL + rate_width {
            pen.text(right, 0, Tone::Dim, &pad_left(&rate, usize::from(rate_width)));
        }
    }
    4.min(area.height)
}

/// Lists the pools with the work that all processes have in hand.
fn pools_lines(pen: &Pen<'_>, width: usize) -> Vec<Line> {
    let Some(crew) = &pen.model.crew else {
        return vec![Line::new().add(Tone::Dim, pen.say(Text::Loading))];
    };
    let mut pools: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::new();
    for pool in crew.workers.iter().flat_map(|worker| &worker.pools) {
        let sum = pools.entry(pool.pool.as_str()).or_default();
        sum.0 += u64::from(pool.in_flight);
        sum.1 += u64::from(pool.capacity);
        sum.2 += 1;
    }
    let lines = pools.iter().map(|(pool, (busy, capacity, workers))| {
        let room = width.saturating_sub(usize::from(LABEL) + 24).min(40);
        let full = usize::try_from(
            busy.saturating_mul(u64::try_from(room).unwrap_or_default())
                .div_ceil((*capacity).max(1)),
        );
        let full = full.unwrap_or(room).min(room);
        let tone = if *busy > 0 { Tone::Busy } else { Tone::Dim };
        let load = format!("{busy}/{capacity}");
        Line::new()
            .add(tone, if *busy > 0 { "▸ " } else { "○ " })
            .add(Tone::Plain, pad(&proto::escape::line(pool), 22))
            .add(tone, pad_left(&load, 10))
            .add(Tone::Dim, format!("  {} ", pen.say(Text::Workers { count: workers })))
            .add(Tone::Busy, "━".repeat(full))
            .add(Tone::Dim, "─".repeat(room - full))
    });
    let lines: Vec<Line> = lines.collect();
    if lines.is_empty() { vec![Line::new().add(Tone::Dim, pen.say(Text::NoCrew))] } else { lines }
}
