//! The pane of steps and calls over time: solid while they run, dotted while they wait.

use jiff::Timestamp;
use proto::escape;
use ratatui::layout::Rect;

use super::cells::{Pen, first, pad, pad_left};
use crate::{
    model::{
        JobScreen,
        spans::{Bar, Part},
    },
    render::{
        line::Line,
        style::{Tone, lasted},
    },
    words::Text,
};

/// Columns of a duration.
const LASTED: usize = 7;

pub(super) fn draw(pen: &mut Pen<'_>, area: Rect, job: &JobScreen, scrolled: usize) {
    let bars = job.bars(&pen.say(Text::Planning), &pen.say(Text::WaitingBar));
    let Some(from) = bars.iter().filter_map(Bar::from).min() else {
        return pen.empty(area, &pen.say(Text::NothingYet));
    };
    let now = end(pen, job, &bars, from);
    let to = bars.iter().map(|bar| bar.to().unwrap_or(now)).max().unwrap_or(now);
    let scale = Scale { from, to: to.max(from), now };
    let rows: Vec<Line> =
        bars.iter().map(|bar| row(bar, &scale, usize::from(area.width))).collect();
    let at = first(rows.len(), rows.len().saturating_sub(scrolled), usize::from(area.height));
    pen.lines(area, rows.iter().skip(at));
}

/// The time up to which open bars reach: the job's last record when it is over or past, else now.
fn end(pen: &Pen<'_>, job: &JobScreen, bars: &[Bar], from: Timestamp) -> Timestamp {
    let is_fixed = job.past.is_some() || job.now().is_some_and(|view| view.outcome.is_some());
    let last = job.shown_events().last().map(|event| event.time);
    let known = bars.iter().filter_map(Bar::to).max().unwrap_or(from);
    match (is_fixed, last) {
        (true, Some(last)) => last.max(known),
        (true, None) => known,
        (false, _) => pen.model.now.max(known),
    }
}

struct Scale {
    from: Timestamp,
    to: Timestamp,
    now: Timestamp,
}

impl Scale {
    /// The column of a time, of `columns`.
    fn column(&self, at: Timestamp, columns: usize) -> usize {
        let whole = self.to.duration_since(self.from).as_millis().max(1);
        let part = at.duration_since(self.from).as_millis().clamp(0, whole);
        let columns = i128::try_from(columns).unwrap_or_default();
        usize::try_from(part * columns / whole).unwrap_or_default()
    }
}

fn row(bar: &Bar, scale: &Scale, width: usize) -> Line {
    let label = (width / 3).clamp(8, 30);
    let room = width.saturating_sub(label + LASTED + 4).max(1);
    let space = "  ".repeat(bar.depth);
    let name = pad(&escape::line(&bar.label), label.saturating_sub(space.len()));
    let mut line = Line::new()
        .add(bar.tone, format!("{space}{} ", bar.mark))
        .add(if bar.depth == 0 { Tone::Plain } else { Tone::Dim }, name)
        .add(Tone::Plain, " ");
    let mut at = 0;
    for Part { from, to, waits } in &bar.parts {
        let begin = scale.column(*from, room).clamp(at, room.saturating_sub(1).max(at));
        let end = scale.column(to.unwrap_or(scale.now), room).clamp(begin, room);
        // What happened is seen, however short it was.
        let end = if end == begin && begin < room && *to != Some(*from) { begin + 1 } else { end };
        line = line.add(Tone::Plain, " ".repeat(begin - at));
        let (mark, tone) = if *waits { ("┄", Tone::Wait) } else { ("━", bar.tone) };
        line = line.add(tone, mark.repeat(end - begin));
        at = end;
    }
    line = line.add(Tone::Plain, " ".repeat(room.saturating_sub(at)));
    let from = bar.from().unwrap_or(scale.from);
    let time = lasted(from, bar.to().unwrap_or(scale.now).max(from));
    line.add(Tone::Dim, pad_left(&time, LASTED))
}
