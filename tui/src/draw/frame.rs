//! The lines around every screen: the tabs, the subject, the status, and the keys.

use proto::{
    escape,
    job::JobState,
    notice::{Notice, NoticeKind},
    view::JobView,
};
use ratatui::layout::{Position, Rect};

use super::{
    WIDE,
    cells::{Pen, pad_left},
};
use crate::{
    model::{Action, Model, Screen, Typing},
    render::{line::Line, marks, style::Tone, text, tree, workflow},
    words::Text,
};

/// Draws the names of the screens; on a narrow terminal, the name of the present one.
pub(super) fn tabs(pen: &mut Pen<'_>, area: Rect) {
    let model = pen.model;
    let counts = [(Screen::Inbox, model.inbox.len()), (Screen::Attention, model.needy().len())];
    let count = |screen| counts.iter().find(|(of, count)| *of == screen && *count > 0);
    let mut line = Line::new();
    if area.width >= WIDE {
        for screen in Screen::ALL {
            let is_here = screen == model.screen;
            let (digit, name) = match is_here {
                true => (Tone::Busy, Tone::Strong),
                false => (Tone::Dim, Tone::Dim),
            };
            line = line.add(digit, format!(" {} ", screen.digit()));
            line = line.add(name, pen.say(screen.title()));
            if let Some((_, count)) = count(screen) {
                line = line.add(Tone::Wait, format!(" {count}"));
            }
            line = line.add(Tone::Plain, " ");
        }
    } else {
        line = line.add(Tone::Busy, format!("{} ", model.screen.digit()));
        line = line.add(Tone::Strong, pen.say(model.screen.title()));
        for (screen, mark, tone) in
            [(Screen::Inbox, "⏸", Tone::Wait), (Screen::Attention, "!", Tone::Bad)]
        {
            if let Some((_, count)) = count(screen).filter(|_| screen != model.screen) {
                line = line.add(tone, format!("  {mark} {count}"));
            }
        }
    }
    let right = match (model.read_only, model.language.code()) {
        (true, code) => format!("{} · {code} ", pen.say(Text::ReadOnly)),
        (false, code) => format!("{code} "),
    };
    let style = model.style(usize::from(area.width));
    let line = line.add_right(Tone::Dim, &right, usize::from(area.width), &style);
    pen.line(area, 0, &line);
}

/// Draws what the screen is about.
pub(super) fn subject(pen: &mut Pen<'_>, area: Rect) {
    let model = pen.model;
    let line = match model.screen {
        Screen::Jobs => {
            let (count, more) = (model.listed().len(), if model.has_more_jobs { "+" } else { "" });
            let open = model.jobs.iter().filter(|job| !job.state.is_terminal()).count();
            let count = &format!("{count}{more}");
            let line =
                Line::new().add(Tone::Dim, pen.say(Text::JobsSubject { count, open: &open }));
            let line = filtered(pen, line);
            match model.marks.len() {
                0 => line,
                marked => line.add(Tone::Wait, pen.say(Text::Marked { count: &marked })),
            }
        }
        Screen::Job => place(pen),
        Screen::Inbox => {
            let count = &model.inbox.len();
            let line = Line::new().add(Tone::Dim, pen.say(Text::InboxSubject { count }));
            filtered(pen, line)
        }
        Screen::Crew => {
            let workers = model.crew.as_ref().map(|crew| crew.workers.as_slice());
            let count = &workers.unwrap_or_default().len();
            Line::new().add(Tone::Dim, pen.say(Text::CrewSubject { count }))
        }
        Screen::Pulse => Line::new().add(Tone::Dim, pen.say(Text::PulseSubject)),
        Screen::Attention => {
            let count = &model.needy().len();
            Line::new().add(Tone::Dim, pen.say(Text::AttentionSubject { count }))
        }
    };
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area };
    pen.line(inner, 0, &line);
}

fn filtered(pen: &Pen<'_>, line: Line) -> Line {
    match pen.model.filter.as_str() {
        "" => line,
        filter => line.add(Tone::Busy, format!(" /{}", escape::line(filter))),
    }
}

/// Says where the job stands: the current step, what is done, what is left, what goes wrong.
fn place(pen: &Pen<'_>) -> Line {
    let model = pen.model;
    let Some(job) = &model.job else { return Line::new().add(Tone::Dim, pen.say(Text::NoJob)) };
    let mut line = Line::new();
    if let Some(past) = &job.past {
        line = line.add(Tone::Wait, format!("{} · ", pen.say(Text::AsOf { seq: &past.seq })));
    }
    let (Some(place), Some(view)) = (job.place(), job.view()) else {
        return line.add(Tone::Dim, pen.say(Text::Loading));
    };
    line = match place.step {
        Some(step) => {
            let (mark, tone) = marks::step(step);
            let label = if step.title.is_empty() { &step.description } else { &step.title };
            let label = text::fit(&escape::line(label), 28);
            line.add(tone, format!("{mark} ")).add(Tone::Strong, label)
        }
        None => {
            let (mark, tone) = marks::job(view.state);
            let activity = view.sub_status.map(|sub| format!(" · {sub}")).unwrap_or_default();
            line.add(tone, format!("{mark} {}{activity}", view.state))
        }
    };
    if let Some(graph) = &view.graph {
        let style = model.style(usize::MAX);
        line = line.add(Tone::Dim, " · ").append(workflow::line(&style, graph));
    } else if place.steps > 0 {
        line = line.add(Tone::Plain, format!(" {}/{}", place.number, place.steps));
        let left = place.steps - place.done;
        if left > 0 && view.outcome.is_none() {
            line = line.add(Tone::Dim, format!(" · {}", pen.say(Text::Left { count: &left })));
        }
    }
    if let Some(notice) = place.notice {
        line = line.add(Tone::Bad, format!(" · ⚠ {}", anomaly(pen, notice)));
    }
    line.add(Tone::Dim, format!(" · {}", job.job))
}

/// Names an anomaly in a few words.
fn anomaly(pen: &Pen<'_>, notice: &Notice) -> String {
    match notice {
        Notice::ToolFailure { tool, times } => {
            let tool = &escape::line(tool);
            pen.say(Text::FailedTimes { tool, times })
        }
        Notice::Repeated { tool, times, must_answer: _ } => {
            let tool = &escape::line(tool);
            pen.say(Text::RepeatedTimes { tool, times })
        }
        Notice::NoProgress { .. } | Notice::NoAnswer | Notice::BudgetLow { .. } => {
            let kind: NoticeKind = notice.kind();
            kind.as_str().to_owned()
        }
    }
}

/// Draws the message for the person, or the text that is typed. Returns the place of the cursor.
pub(super) fn status(pen: &mut Pen<'_>, area: Rect) -> Option<Position> {
    let model = pen.model;
    if let Some(typing) = &model.typing {
        let (mark, entry) = match typing {
            Typing::Filter(entry) => ('/', entry),
            Typing::Command(entry) => (':', entry),
        };
        let text = entry.text();
        let line = Line::new().add(Tone::Busy, mark.to_string()).add(Tone::Plain, text);
        pen.line(area, 0, &line);
        let before = u16::try_from(text::width(&entry.before())).unwrap_or(u16::MAX);
        let x = area.x.saturating_add(1).saturating_add(before).min(area.right().saturating_sub(1));
        return Some(Position { x, y: area.y });
    }
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area };
    if let Some((since, why)) = &model.offline {
        let time = &model.style(80).time(*since);
        let line = Line::new().add(Tone::Bad, pen.say(Text::NotLive { since: time, why }));
        pen.line(inner, 0, &line);
    } else if let Some((tone, words)) = &model.notice {
        pen.text(inner, 0, *tone, words);
    } else if let Some((tone, words)) = advice(pen) {
        pen.text(inner, 0, tone, &words);
    }
    None
}

/// Says what a person can do about what is shown.
fn advice(pen: &Pen<'_>) -> Option<(Tone, String)> {
    let model = pen.model;
    if model.is_in_the_past() {
        return Some((Tone::Wait, pen.say(Text::PastAdvice)));
    }
    if model.screen != Screen::Job {
        return None;
    }
    let view = model.job.as_ref()?.now()?;
    if let Some(open) = model.question() {
        let prompt = &escape::line(&open.question.prompt);
        let said = match model.read_only {
            true => Text::QuestionWaits { prompt },
            false => Text::QuestionWaitsForYou { prompt },
        };
        return Some((Tone::Wait, pen.say(said)));
    }
    let why = why(model, view)?;
    Some((marks::job(view.state).1, why))
}

fn why(model: &Model, view: &JobView) -> Option<String> {
    let style = model.style(200);
    let held = tree::why(&style, view).filter(|why| !why.trim().is_empty());
    let next = view.why.iter().find(|why| why.reason.is_hold());
    let next = next.and_then(|why| why.reason.unblock(&view.job, model.language));
    match (held, next) {
        (Some(held), Some(next)) => Some(escape::line(&format!("{held} — {next}")).into_owned()),
        (Some(held), None) => Some(escape::line(&held).into_owned()),
        (None, _) => match view.state {
            JobState::Completed => Some(Text::CompletedAdvice.text(model.language)),
            JobState::Failed | JobState::Rejected | JobState::Canceled => {
                Some(Text::FailedAdvice.text(model.language))
            }
            JobState::Submitted
            | JobState::Working
            | JobState::InputRequired
            | JobState::AuthRequired => None,
        },
    }
}

/// Draws what is possible now.
pub(super) fn keys(pen: &mut Pen<'_>, area: Rect) {
    let model = pen.model;
    let shown = possible(model);
    let end =
        [Action::Help, Action::Quit].map(|action| (action.key_name(), pen.say(action.name(model))));
    let end_width: usize = end.iter().map(|(key, name)| width(key, name)).sum();
    let room = usize::from(area.width).saturating_sub(end_width + 1);
    let mut line = Line::new().add(Tone::Plain, " ");
    for action in shown {
        let (key, name) = (action.key_name(), pen.say(action.name(model)));
        if line.width() + width(&key, &name) <= room {
            line = line.add(Tone::Busy, key).add(Tone::Dim, format!(" {name}  "));
        }
    }
    let space = usize::from(area.width).saturating_sub(line.width() + end_width);
    line = line.add(Tone::Plain, pad_left("", space));
    for (key, name) in end {
        line = line.add(Tone::Busy, key).add(Tone::Dim, format!(" {name}  "));
    }
    pen.line(area, 0, &line);
}

fn width(key: &str, name: &str) -> usize {
    text::width(key) + text::width(name) + 3
}

/// The possible actions that the bottom line names.
fn possible(model: &Model) -> Vec<Action> {
    let hidden = [Action::Help, Action::Quit, Action::Language];
    let all = Action::ALL.into_iter().filter(|action| !hidden.contains(action));
    all.filter(|action| action.is_possible(model)).collect()
}
