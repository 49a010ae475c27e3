//! Rendering of sub-agents' jobs and of the log records about them.

use proto::{
    decision::Note,
    escape,
    family::{ChildSaid, News},
    job::Outcome,
    view::JobView,
};

use crate::{
    render::{line::Line, marks},
    style::{Style, Tone},
};

/// Renders a line for each child job, and for each question open in it or below it.
pub(super) fn lines(style: &Style, view: &JobView) -> Vec<String> {
    let mut lines = Vec::new();
    for child in &view.children {
        let (mark, tone) = marks::job(child.state);
        let line = Line::new().add(tone, format!("  {mark} {} ", escape::line(&child.path)));
        let line =
            line.add(Tone::Plain, format!("{} ", child.agent)).add(tone, child.state.as_str());
        lines.push(line.add(Tone::Dim, format!(" {}", child.job)).render(style));
        for below in &child.questions {
            let (path, asked) = (escape::line(&below.path), &below.question);
            let head = format!("    ⏸ {path} {} {}: ", asked.id, asked.kind.name());
            let line = Line::new().add(Tone::Wait, head);
            lines.push(line.add(Tone::Plain, escape::line(&asked.prompt)).render(style));
        }
    }
    lines
}

/// Names the parent job; empty without one.
pub(super) fn above(view: &JobView) -> String {
    view.parent
        .as_ref()
        .map(|parent| format!("{} ({})", parent.job, escape::line(&parent.path)))
        .unwrap_or_default()
}

/// Renders a message of a child job.
pub(super) fn child_said(said: &ChildSaid) -> (Tone, String) {
    let who = format!("{}#{}", said.work, said.attempt);
    match &said.news {
        News::Asks { path, job, question } => {
            (Tone::Wait, format!("{who} asks {path} ({job} {}): {}", question.id, question.prompt))
        }
        News::Closed { job, ask } => (Tone::Dim, format!("{who} {ask} of {job} is closed")),
        News::Ended { outcome, .. } => match outcome {
            Outcome::Completed { summary, .. } => {
                (Tone::Good, format!("{who} completed: {summary}"))
            }
            Outcome::Failed { reason, message, .. } => {
                (Tone::Bad, format!("{who} failed, {}: {message}", reason.as_str()))
            }
            Outcome::Canceled { reason } => {
                let reason = reason.as_deref().unwrap_or_default();
                (Tone::Dim, format!("{who} was canceled {reason}"))
            }
        },
    }
}

/// Renders a note about parents and children; empty for other notes.
pub(super) fn note(note: &Note) -> String {
    match note {
        Note::Spawned { work, attempt, .. } => format!("{work}#{attempt} has started"),
        Note::ChildTold { work, attempt, signal, .. } => {
            format!("{work}#{attempt} is told to {}", signal.word())
        }
        Note::ParentTold { job, ask, open: true, .. } => {
            format!("the parent is told that {job} asks {ask}")
        }
        Note::ParentTold { job, ask, open: false, .. } => {
            format!("the parent is told that {ask} of {job} is closed")
        }
        Note::Concluded { outcome, .. } => format!("settled: {}", outcome.state()),
        Note::QuestionClosed { .. } | Note::Stopped { .. } | Note::Held { .. } => String::new(),
    }
}
