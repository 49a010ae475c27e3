//! Rendering of sub-agents' jobs and of the log records about them.

use proto::{
    decision::Note,
    escape,
    family::{ChildSaid, News},
    id::{Attempt, WorkId},
    view::JobView,
};

use crate::{
    render::history,
    style::{Style, Tone},
    words::Text,
};

/// Names the parent job; empty without one.
pub(super) fn above(view: &JobView) -> String {
    view.parent
        .as_ref()
        .map(|parent| format!("{} ({})", parent.job, escape::line(&parent.path)))
        .unwrap_or_default()
}

/// Renders a message of a child job.
pub(super) fn child_said(style: &Style, said: &ChildSaid) -> (Tone, String) {
    let unit = &format!("{}#{}", said.work, said.attempt);
    match &said.news {
        News::Asks { path, job, question } => {
            let (ask, prompt) = (&question.id, &question.prompt);
            (Tone::Wait, style.say(Text::LogChildAsks { unit, path, job, ask, prompt }))
        }
        News::Closed { job, ask } => {
            (Tone::Dim, style.say(Text::LogChildClosed { unit, ask, job }))
        }
        News::Ended { outcome, .. } => {
            let (tone, ending) = history::ending(style, outcome);
            (tone, format!("{unit} {ending}"))
        }
    }
}

/// Renders a note about parents and children; empty for other notes.
pub(super) fn note(style: &Style, note: &Note) -> String {
    let unit = |work: &WorkId, attempt: &Attempt| format!("{work}#{attempt}");
    match note {
        Note::Spawned { work, attempt, .. } => {
            style.say(Text::LogChildStarted { unit: &unit(work, attempt) })
        }
        Note::ChildTold { work, attempt, signal, .. } => {
            let signal = &signal.word();
            style.say(Text::LogChildTold { unit: &unit(work, attempt), signal })
        }
        Note::ParentTold { job, ask, open: true, .. } => {
            style.say(Text::LogParentAsked { job, ask })
        }
        Note::ParentTold { job, ask, open: false, .. } => {
            style.say(Text::LogParentClosed { job, ask })
        }
        Note::Concluded { outcome, .. } => style.say(Text::LogSettled { state: &outcome.state() }),
        Note::QuestionClosed { .. }
        | Note::Stopped { .. }
        | Note::Advanced(_)
        | Note::GraphEdited { .. }
        | Note::Held { .. } => String::new(),
    }
}
