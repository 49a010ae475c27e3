//! The drawing of the model on a terminal of any size. Pure: it reads the model and fills a buffer.

mod cells;
mod crew;
mod frame;
mod inbox;
mod job;
mod jobs;
mod needy;
mod overlay;
mod pulse;
mod waterfall;

use ratatui::{
    Frame,
    layout::{Constraint, Layout},
};

use self::cells::Pen;
use crate::model::{Model, Screen};

/// Fewest columns for two panes beside each other.
const WIDE: u16 = 80;

/// Draws the model. Without `color` the meaning is in marks and words alone.
pub(crate) fn draw(frame: &mut Frame<'_>, model: &Model, color: bool) {
    let area = frame.area();
    let rows = [
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
        Constraint::Length(1),
    ];
    let [tabs, subject, body, status, keys] = Layout::vertical(rows).areas(area);
    let mut pen = Pen { buffer: frame.buffer_mut(), model, color };
    frame::tabs(&mut pen, tabs);
    frame::subject(&mut pen, subject);
    match model.screen {
        Screen::Jobs => jobs::draw(&mut pen, body),
        Screen::Job => job::draw(&mut pen, body),
        Screen::Inbox => inbox::draw(&mut pen, body),
        Screen::Crew => crew::draw(&mut pen, body),
        Screen::Pulse => pulse::draw(&mut pen, body),
        Screen::Attention => needy::draw(&mut pen, body),
    }
    let cursor = frame::status(&mut pen, status);
    frame::keys(&mut pen, keys);
    let over = overlay::draw(&mut pen, area);
    if let Some(position) = over.or(cursor) {
        frame.set_cursor_position(position);
    }
}
