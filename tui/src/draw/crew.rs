//! The screen of live processes.

use proto::{escape, wire::Presence};
use ratatui::layout::Rect;

use super::cells::{Pen, pad, pad_left};
use crate::{
    render::{line::Line, style::Tone},
    words::Text,
};

pub(super) fn draw(pen: &mut Pen<'_>, area: Rect) {
    let model = pen.model;
    let Some(crew) = &model.crew else { return pen.empty(area, &pen.say(Text::Loading)) };
    if crew.workers.is_empty() {
        return pen.empty(area, &pen.say(Text::NoCrew));
    }
    let width = usize::from(area.width.saturating_sub(2));
    let rows: Vec<Line> = crew.workers.iter().map(|one| row(pen, one, width)).collect();
    pen.list(area, &rows, model.cursor());
}

fn row(pen: &Pen<'_>, one: &Presence, width: usize) -> Line {
    let busy: u64 = one.pools.iter().map(|pool| u64::from(pool.in_flight)).sum();
    let (mark, tone) = match (one.draining, busy) {
        (true, _) => ("⏸", Tone::Wait),
        (false, 0) => ("○", Tone::Plain),
        (false, _) => ("▸", Tone::Busy),
    };
    let load = pen.say(Text::Load { count: &busy });
    let shards = match one.shards.len() {
        0 => String::new(),
        count => pen.say(Text::Shards { count: &count }),
    };
    let state = if one.draining { pen.say(Text::Draining) } else { String::new() };
    let version = format!("{} {state}", one.version);
    let (shards_width, version_width) = match width {
        0..60 => (0, 0),
        60..90 => (12, 0),
        _ => (12, 22),
    };
    let name = (width / 3).clamp(10, 28);
    let rest = width.saturating_sub(2 + name + 12 + shards_width + version_width + 1);
    let line = Line::new()
        .add(tone, format!("{mark} "))
        .add(Tone::Plain, pad(&escape::line(one.worker.as_str()), name))
        .add(Tone::Dim, format!(" {}", pad(&escape::line(&one.roles.join(", ")), rest)))
        .add(tone, pad_left(&load, 12));
    let line = line.add(Tone::Dim, pad_left(&shards, shards_width));
    let version = escape::line(version.trim());
    line.add(Tone::Dim, pad_left(&version, version_width))
}
